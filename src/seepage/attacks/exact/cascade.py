"""The cascade: presence, span, certificates, peeling; and the optimiser for what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from torch import Tensor

from seepage._core import NotApplicable, Progress, Streams, silent
from seepage.attacks.attack import Together, attacked, check_least
from seepage.attacks.exact.case import Case
from seepage.attacks.exact.certificate import LIMIT, distances
from seepage.attacks.exact.defended import as_computed, unproven
from seepage.attacks.exact.handover import Masked
from seepage.attacks.exact.mixed import statistics_of
from seepage.attacks.exact.search import Leaves, span_search
from seepage.attacks.inversion import Inversion, Runs, fast
from seepage.attacks.inversion.numbers import Bounded
from seepage.attacks.inversion.starts import Inside
from seepage.observation import Claim, Observation, Scene, Space, gradient_of

REPLAYED = 64  # rows that are looked for by replaying steps that leave no gradient
LARGE = 256  # rows behind an update of several steps, from which on only totals are read
LOST = "No gradient of single rows is left in the update (Adam, clipped steps, or BatchNorm without its statistics)"
NO_GRADIENT = f"{LOST}: rows were optimised until the steps fit."
NEAR = 100.0  # times the limit: leaves whose numbers are fixed and that are further from the spans are no records


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Read rows by algebra, say which of them are proven, and optimise the rest.

    1. *Presence*: which categories occur.
    2. *Span*: all valid rows in the span of the first layer, where it is small enough to search.
    3. *Single rows*: where it is not, rows of a short optimisation are pulled onto the spans of all layers one by one.
    4. *Certificates* and *peeling*: proven rows are subtracted from the update with their labels; what is left is the
       update of a smaller batch, and 2 and 3 start again on it.
    5. The last rows are fitted together, or optimised as the ``fast`` attack does, without the categories that are
       absent.

    Every row of the answer is certified or estimated; ``certificate.py`` states what certified means. Labels need not
    be known.

    Args:
        steps, restarts: of the optimisation at the end.
        start_steps, starts: of the short ones that only give first guesses.
        turns: how often peeling goes on.
        nodes: nodes of a span search.
        leaves: rows of a span that are looked at more closely.
        compile: as in :class:`Inversion`.

    References:
        ``docs/explanation/exact-inversion.md``. Related: Dimitrov et al., SPEAR, 2024; Petrov et al., DAGER, 2024.

    Example:
        >>> Exact(starts=4).turns
        8
    """

    steps: int = 500
    restarts: int = 30
    start_steps: int = 300
    starts: int = 10
    turns: int = 8
    nodes: int = 300_000
    leaves: int = 15_000
    compile: Literal["no", "yes", "auto"] = "auto"

    def __post_init__(self) -> None:
        check_least(self, steps=1, restarts=1, start_steps=1, starts=1, turns=1, nodes=1, leaves=1)
        self._engine(self.restarts, self.steps)

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        """All updates are attacked together."""
        read = partial(self, streams=streams, progress=progress)
        if scene.exchange.channel.mixed:
            return Together(lambda observations: unproven(read(observations)))
        return Together(lambda observations: read([as_computed(each) for each in observations]))

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]:
        if any(each.earlier for each in observations):
            return self._over_rounds(observations, streams, progress)
        exchange = observations[0].exchange
        if exchange.protocol == "fedavg" and exchange.steps > 1 and exchange.rows > LARGE:
            raise NotApplicable(
                f"{exchange.rows:,} rows in {exchange.steps:,} local steps stand behind each update: no layer holds so "
                "many apart, and to optimise them all takes hours. The attack fast tries it; presence and counts read "
                "what can be read of all rows together."
            )
        mixed = [place for place, each in enumerate(observations) if not _is_gradient(each)]
        if mixed and exchange.rows > REPLAYED:
            raise NotApplicable(
                f"{LOST}, and {exchange.rows} rows are too many to be found by replaying the steps. The attack fast "
                "tries it; presence and counts read what can be read of all rows together."
            )
        if mixed:
            return self._in_parts(observations, mixed, streams, progress)
        return self.read([Case(observation) for observation in observations], streams, progress)

    def read(self, cases: Sequence[Case], streams: Streams, progress: Progress) -> list[Claim]:
        """The cascade itself, on updates that are laid out for it."""
        space = cases[0].observation.space if cases else None
        for turn in range(self.turns):
            for number, case in enumerate(cases):
                progress("reading", number + 1, len(cases), f"turn {turn + 1}")
                while case.open and self._search(case):
                    pass
            waiting = [case for case in cases if case.searchable]
            if not waiting:
                break
            engine = self._engine(self.starts, self.start_steps, space)
            found = self._runs(engine, waiting, streams.child("starts", turn), progress)
            for case, runs in zip(waiting, found, strict=True):
                case.take(runs)
        left = [case for case in cases if not case.done and len(case.rows) + len(case.likely) < case.total]
        engine = self._engine(self.restarts, self.steps, space)
        for case, runs in zip(left, self._runs(engine, left, streams.child("rest"), progress), strict=True):
            case.finish(runs, engine.pooled(runs, case.observation.space))
        return [case.claim() for case in cases]

    def _over_rounds(self, observations: Sequence[Observation], streams: Streams, progress: Progress) -> list[Claim]:
        """Clients of whom several rounds are known, one after the other."""
        from seepage.attacks.exact.over_rounds import over_rounds  # it ends in attacks on single rounds

        claims = []
        for number, each in enumerate(observations):
            progress("clients", number + 1, len(observations))
            own = streams.child("client", number)
            claims.append(over_rounds(self, each, own, progress) if each.earlier else self([each], own)[0])
        return claims

    def _in_parts(
        self, observations: Sequence[Observation], mixed: Sequence[int], streams: Streams, progress: Progress
    ) -> list[Claim]:
        """Where no gradient is left in an update (Adam, clipping), all that remains is to replay the steps."""
        engine = replace(fast(), restarts=self.restarts, steps=self.steps, compile=self.compile)
        theirs = [observations[place] for place in mixed]
        replayed = attacked(engine, theirs, streams.child("replayed"), progress=progress)
        claims = {place: replace(c, note=c.note or NO_GRADIENT) for place, c in zip(mixed, replayed, strict=True)}
        others = [place for place in range(len(observations)) if place not in claims]
        if others:
            read = self([observations[place] for place in others], streams, progress=progress)
            claims |= dict(zip(others, read, strict=True))
        return [claims[place] for place in range(len(observations))]

    def _engine(self, restarts: int, steps: int, space: Space | None = None) -> Inversion:
        """The optimiser with what is known: absent categories left out, numbers inside their range."""
        plain = fast()
        engine = replace(
            plain, restarts=restarts, steps=steps, initial=Masked(start=plain.initial), compile=self.compile
        )
        known = space is not None and space.layout.numeric and space.low is not None and space.scale is not None
        return replace(engine, numbers=Bounded(), initial=Inside(start=engine.initial)) if known else engine

    def _search(self, case: Case) -> bool:
        """Search the span and take what is certain; True if something was, so that another search may find more."""
        leaves = span_search(case.view, self.nodes)
        if not leaves.complete or not len(leaves.codes):
            return False
        if not leaves.free and case.view.single and case.view.deep:
            near = distances(case.view, case.view.rows_of(leaves.codes, leaves.numbers)) < NEAR * LIMIT
            if bool(near.any()):
                leaves = _chosen(leaves, near)
        few = len(leaves.codes) <= self.leaves or not case.view.single
        return few and case.take_leaves(leaves)

    @staticmethod
    def _runs(engine: Inversion, cases: Sequence[Case], streams: Streams, progress: Progress) -> list[Runs]:
        """The optimiser on what is left of every case; those with equally many rows together."""
        groups: dict[int, list[int]] = {}
        for place, case in enumerate(cases):
            groups.setdefault(case.rest.exchange.rows, []).append(place)
        found: dict[int, Runs] = {}
        for rows, group in groups.items():
            runs = engine.runs([cases[place].rest for place in group], streams.child(rows), progress=progress)
            found |= dict(zip(group, runs, strict=True))
        return [found[place] for place in range(len(cases))]


def _chosen(leaves: Leaves, keep: Tensor) -> Leaves:
    """Some leaves. They are no complete list any more: a weak record may be among those left out."""
    return replace(leaves, codes=leaves.codes[keep], numbers=leaves.numbers[keep], complete=False)


def _is_gradient(observation: Observation) -> bool:
    """Whether the update still is one, up to a number that is known."""
    try:
        gradient_of(observation)
        if observation.learner.batch_statistics:
            statistics_of(observation)
    except NotApplicable:
        exchange = observation.exchange
        return exchange.protocol == "fedavg" and not exchange.learning_rate > 0  # nothing to replay: it is told later
    return True
