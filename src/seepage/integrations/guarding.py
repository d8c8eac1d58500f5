"""Guards a client's updates: before one leaves, says what can be read from it, and can hold it back.

Counting (``seepage attacks explain``) takes microseconds and no rows. With ``attack_seconds`` the update is attacked as
a server would attack it, and the answer is scored against the client's own rows; nothing of them is written, logged or
sent. What the rule makes of it: ``log``, ``warn``, or ``hold`` the update back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ValidationError

from seepage._core import InputError, unknown_name
from seepage._core.validation import sentence
from seepage.captures import CaptureFacts, Tensors
from seepage.captures.reading import Kind, same_shapes
from seepage.captures.tensors import as_arrays
from seepage.integrations.arriving import ArrivedWeights
from seepage.integrations.judging import Objection, Verdict, by_attack, by_counting, told_of
from seepage.integrations.looking import OwnUpdates
from seepage.integrations.recording import Arrays
from seepage.plans import registry
from seepage.plans.options import checked
from seepage.results.gate import Limits
from seepage.results.tallies import TALLYING
from seepage.studies.updates.settings import UpdatesSettings

Action = Literal["log", "warn", "hold"]
LONGEST = 3600.0  # seconds of an attack


@dataclass(frozen=True, kw_only=True, eq=False)
class Guard:
    """Looks at what a client is about to send.

    Args:
        model: the federation's model: a name, ``package.module:build``, a function that builds it, or a module.
        schema: of the columns, as ``seepage data schema`` writes it.
        facts: how the client trains (:class:`seepage.captures.CaptureFacts`): ``batch_size``, ``local_epochs``,
            ``learning_rate``, ``optimiser`` and so on; ``rows`` if the client does not tell it with its update.
        max_exact: largest share of rows that may be read exactly; the other limits are those of ``seepage gate``. If
            none is given, no row may be read exactly.
        action: what is done above a limit.
        accept_weak: let an update pass of which it could not be shown that it leaks no more than is allowed.
        attack_seconds: attack every update for at most so long; None only counts.
        rows: the rows behind the update, for an attack: a file, a frame, or a function that returns one.
        client_rows: all rows of the client, with whose statistics it scales; ``rows`` if not given.
        preprocessing: that all clients share, see ``--preprocessing``.
        attacks: that are tried, in this order; if none are named, ``exact``, and ``presence`` and ``counts`` where
            there is a limit on them.
        public: a table that everybody knows; what is read is compared with guesses from it, else with guesses from the
            schema.
        settings: further settings of ``seepage audit updates``, such as ``{"labels_known": True}``.
        arrived: looks at a model that arrived, before the client trains, and returns what is wrong with it in a
            sentence; empty if nothing is. The place of a detector of one's own.
        check_weights: look at a model that arrived with the checks of :mod:`seepage.defenses.received`: names and
            shapes, copied neurons, sizes, a jump since the last round, and, with ``rows``, the client's own rows that
            stand alone in a neuron.
        logger: of the client.
    """

    model: Any
    schema: Any
    facts: Mapping[str, Any] = field(default_factory=dict)
    max_exact: float | None = None
    max_emr: float | None = None
    max_gain: float | None = None
    max_presence: float | None = None
    max_counts: float | None = None
    action: Action = "warn"
    accept_weak: bool = False
    attack_seconds: float | None = None
    rows: Any = None
    client_rows: Any = None
    preprocessing: Any = None
    attacks: Sequence[str] = ()
    public: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrived: Callable[[Tensors], str] | None = None
    check_weights: bool = False
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("seepage.guard"))
    _said: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise unknown_name("action of a guard", self.action, get_args(Action))
        if self.attack_seconds is not None and not 0 < self.attack_seconds <= LONGEST:
            raise InputError(
                f"The guard may attack for {self.attack_seconds!r} seconds; say more than 0 and at most {LONGEST:g}, "
                "or leave attack_seconds out, and it only counts."
            )
        if self.attack_seconds is not None and self.rows is None:
            raise InputError("A guard that attacks needs the client's rows, to score what it reads: say rows=.")
        if self.attack_seconds is None and (self.rows is not None or self.client_rows is not None):
            raise InputError("A guard that only counts needs no rows: leave them out, or say attack_seconds=.")
        if self.attack_seconds is None and (self.attacks or self.public is not None):
            raise InputError("A guard that only counts attacks nothing: leave attacks and public out.")
        for name in self.own.settings.attacks:
            registry.make("attack", name, "updates", self.own.settings.attack_options)
        # A mistake is told before any training, and the first round finds the model counted.
        self.own.count(_known(self.facts, rows=1_000_000), "after")

    @cached_property
    def limits(self) -> Limits:
        """As in ``seepage gate``; by default no row may be read exactly."""
        names = ("exact", "emr", "gain", "presence", "counts")
        given = {name: value for name in names if (value := getattr(self, f"max_{name}")) is not None}
        return Limits(**(given or {"exact": 0.0}))

    def check(self, before: Arrays, sent: Arrays, *, kind: Kind = "after", rows: int | None = None) -> Verdict:
        """What is to be done with an update that is about to leave.

        Args:
            before: makes the weights that the client was sent, if they are needed: names with tensors or arrays.
            sent: the same of what it is about to send.
            kind: the weights ``after`` training, their ``change``, or a ``gradient``.
            rows: behind it, as the client tells the server.
        """
        began = time.perf_counter()
        objections, told = self._tried(lambda: self._looked_at(before, sent, kind, rows, began))
        return self._judged(objections, told, began)

    def check_arrived(self, model: Arrays) -> Verdict:
        """What is to be done about a model that arrived: nothing, as long as nobody looks at it."""
        looks: list[Callable[[Tensors], str]] = [self.arrived] if self.arrived else []
        looks += [self._weights] if self.check_weights else []
        if not looks:
            return Verdict(held=False, objections=(), told=())
        began = time.perf_counter()

        def looked() -> tuple[list[Objection], list[str]]:
            arrived, why = as_arrays(model(), "The model that arrived"), "the model that arrived looks manipulated"
            return [Objection(wrong, why) for look in looks if (wrong := look(arrived))], []

        objections, told = self._tried(looked)
        return self._judged(objections, told, began)

    def _judged(self, objections: list[Objection], told: list[str], began: float) -> Verdict:
        """What follows from objections, told in the client's own log."""
        strict = [each for each in objections if not (each.weak and self.accept_weak)]
        verdict = Verdict(
            held=self.action == "hold" and bool(strict),
            objections=tuple(strict),
            told=tuple(told),
            seconds=time.perf_counter() - began,
        )
        self._tell(verdict)
        return verdict

    def _tried(self, look: Callable[[], tuple[list[Objection], list[str]]]) -> tuple[list[Objection], list[str]]:
        """What a look finds; an error is an objection of its own, and its text stays on this machine."""
        unknown = "what can be read from it could not be measured"
        try:
            return look()
        except InputError as error:
            return [Objection(f"it could not be looked at: {error}", unknown, weak=True)], []
        except Exception:
            # Whatever breaks in here must not reach the server as somebody's error text: it may hold a row.
            self.logger.exception("Seepage's guard: an error of its own")
            return [Objection("it could not be looked at: an error, told above", unknown, weak=True)], []

    def _looked_at(
        self, before: Arrays, sent: Arrays, kind: Kind, rows: int | None, began: float
    ) -> tuple[list[Objection], list[str]]:
        facts = _known(self.facts if rows is None else {**self.facts, "rows": rows}, kind=kind)
        found, stops = self.own.count(facts, kind)
        if self.attack_seconds is None:
            told = [f"{each.what}: {each.verdict}. {each.why}" for each in found if each.verdict != "cannot"]
            return by_counting(found, self.limits), [*told, stops]
        start, end = as_arrays(before(), "What arrived"), as_arrays(sent(), "What is sent")
        same_shapes(start, end, kind)
        answers = self.own.attack(facts, kind, start, end, until=began + self.attack_seconds)
        objections = by_attack(answers, self.limits)
        if any(each.weak for each in objections):  # then what counting says is all that is known
            objections += by_counting(found, self.limits)
        return objections, [told_of(each) for each in answers]

    def _tell(self, verdict: Verdict) -> None:
        """Say it in the client's own log."""
        for line in verdict.told:
            if line not in self._said:  # what counting says is the same in every round
                self.logger.info("Seepage's guard: %s", line)
        self._said.update(verdict.told if self.attack_seconds is None else ())
        level = logging.INFO if self.action == "log" else logging.WARNING
        for each in verdict.objections:
            self.logger.log(level, "Seepage's guard: %s.%s", each.what, " The update is held back." * verdict.held)

    @cached_property
    def _weights(self) -> ArrivedWeights:
        return ArrivedWeights(self.own)

    @cached_property
    def own(self) -> OwnUpdates:
        """What the client knows about its updates, checked."""
        named = tuple(self.attacks) or ("exact", *(TALLYING if self.limits.of(totals=True) else ()))
        asked = {"capture": "guard", "model": self.model, "attacks": named, **self.settings}
        if self.rows is not None:
            asked["truth"] = Path("rows")  # there are some; they are given as they are
        foreign = [name for name in asked if name not in UpdatesSettings.model_fields]
        if foreign:
            raise unknown_name("setting of captured updates", foreign[0], UpdatesSettings.model_fields)
        return OwnUpdates(
            settings=checked(UpdatesSettings, asked, lambda kind, spec: registry.written_out(kind, spec, "updates")),
            schema=self.schema,
            preprocessing=self.preprocessing,
            rows=self.rows,
            client_rows=self.client_rows,
            public=self.public,
        )


def guard_of(options: Mapping[str, Any]) -> Guard:
    """A guard from what somebody wrote; an unknown or missing name is one sentence."""
    known = [each.name for each in fields(Guard) if each.init]
    for name in options:
        if name not in known:
            raise unknown_name("option of a guard", name, known)
    for name in ("model", "schema"):
        if options.get(name) is None:
            raise InputError(f"A guard needs the federation's {name}: say {name}=.")
    return Guard(**options)


def _known(facts: Mapping[str, Any], *, kind: Kind = "after", rows: int | None = None) -> CaptureFacts:
    """The facts of an update; a mistake is one sentence."""
    told = {"rows": rows, **facts} if rows is not None else dict(facts)
    if told.get("rows") is None:
        raise InputError(
            "How many rows are behind the update? The client did not tell, and neither did the guard's facts."
        )
    try:
        known = CaptureFacts(**told)
    except ValidationError as error:
        raise InputError(sentence(error)) from None
    if rows is None:
        known.check(kind)
    return known
