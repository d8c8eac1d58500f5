"""One update, looked at where it was made: counted, or attacked and scored against the client's rows, in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from seepage._core import InputError, Outcome, Progress, Streams
from seepage._core.paths import user_path
from seepage.attacks.applicability import Finding, findings, what_stops
from seepage.captures import Capture, CaptureFacts, Entry, Tensors, pseudonym
from seepage.captures.reading import Kind, StoredEntry
from seepage.data import Encoder, Preprocessing, Schema, Table
from seepage.data.prepared import as_preprocessing, prepared_schema
from seepage.data.source import table_under
from seepage.integrations.judging import Answer
from seepage.metrics import Evaluator
from seepage.models import Learner
from seepage.plans import registry
from seepage.studies.rows.attacking import claims_of
from seepage.studies.updates.counting import setup_of
from seepage.studies.updates.observing import fitted_tensors, knowledge_of, observations_of, parts_of, why_not
from seepage.studies.updates.running import guessed_from, truth_of
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.updates.source import CapturedUpdates, no_rows

BEFORE, SENT = "0" * 32, "1" * 32  # names of tensors that are in no file


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnUpdates:
    """What a client knows about its own updates.

    Args:
        settings: of the study of captured updates: the model, the attacks, what the server knows.
        schema: of the columns: a file, or the schema.
        preprocessing: that all clients share, if they do.
        rows, client_rows, public: tables, or functions that return them; see :class:`Guard`.
    """

    settings: UpdatesSettings
    schema: Any
    preprocessing: Any = None
    rows: Any = None
    client_rows: Any = None
    public: Any = None
    _counted: dict[tuple[Kind, int], tuple[list[Finding], str]] = field(default_factory=dict, init=False, repr=False)

    def count(self, facts: CaptureFacts, kind: Kind) -> tuple[list[Finding], str]:
        """What each part of the attacks can do, and what would stop it: the same in every round with as many rows."""
        if (kind, facts.rows) not in self._counted:
            encoder, learner = self.parts
            source = self._source(facts, kind, {})
            setup = setup_of(source, self.settings, source.cases[0], encoder, learner)
            self._counted[kind, facts.rows] = findings(setup), what_stops(setup)
        return self._counted[kind, facts.rows]

    def attack(self, facts: CaptureFacts, kind: Kind, before: Tensors, sent: Tensors, *, until: float) -> list[Answer]:
        """What attacks read of one update, scored.

        Args:
            until: by the clock of ``time.perf_counter``. An attack that is not done by then has no answer.
        """
        source = self._source(facts, kind, {BEFORE: before, SENT: sent})
        if source.truth is not None and facts.rows != len(source.truth):
            raise InputError(
                f"{facts.rows} rows are said to be behind the update, and the guard was given {len(source.truth)}."
            )
        fitted_tensors(source.entries[0], self.parts[1], self.settings.model)
        answers: list[Answer] = []
        broken: list[Exception] = []

        def stop(label: str, done: int, total: int, note: str = "") -> None:
            if time.perf_counter() > until:
                raise _TimeIsUp

        def work() -> None:
            try:
                for name in self.settings.attacks:
                    stop(name, 0, 1)
                    answers.append(self._answer(source, name, stop))
            except _TimeIsUp:
                return
            except Exception as error:  # noqa: BLE001  # raised again where somebody waits
                broken.append(error)

        # An attack looks at the clock only now and then. The round must not wait for it, so it runs beside.
        runner = threading.Thread(target=work, name="seepage-guard", daemon=True)
        runner.start()
        runner.join(max(0.0, until - time.perf_counter()))
        if broken:
            raise broken[0]
        return list(answers)

    def _answer(self, source: CapturedUpdates, name: str, progress: Progress) -> Answer:
        encoder, learner = self.parts
        case, began = source.cases[0], time.perf_counter()
        if why_not(case, name):
            return Answer(name, Outcome.NOT_APPLICABLE, {}, 0.0)
        observations = observations_of(source, self.settings, case, encoder, learner)
        made = registry.make("attack", name, "updates", self.settings.attack_options)
        streams = Streams(self.settings.seed).child("guard", name)
        (claim,) = claims_of(made, observations, streams, progress)
        truth = truth_of(source, self.settings, encoder)
        assert truth is not None
        evaluator = Evaluator(training=guessed_from(source, truth), matching=self.settings.matching)
        values = evaluator(claim, truth, knowledge_of(source, self.settings), np.random.default_rng(0))
        return Answer(name, claim.outcome, values, time.perf_counter() - began)

    @cached_property
    def parts(self) -> tuple[Encoder, Learner]:
        """The encoder and the federation's model; its weights come with every update."""
        return parts_of(self._source(CaptureFacts(rows=1), "after", {}), self.settings)

    @cached_property
    def _shared(self) -> Preprocessing | None:
        return as_preprocessing(self.preprocessing)

    @cached_property
    def _columns(self) -> Schema:
        schema = self.schema if isinstance(self.schema, Schema) else Schema.read(user_path(self.schema))
        return schema if self._shared is None else prepared_schema(schema, self._shared)

    @cached_property
    def _known_to_all(self) -> Table:
        return no_rows(self._columns) if self.public is None else self._table(self.public)

    @property
    def table_of_rows(self) -> Table | None:
        """The rows behind the update, if the client gave them."""
        return None if self.rows is None else self._table(self.rows)

    def _table(self, rows: Any) -> Table:
        return table_under(rows() if callable(rows) else rows, self._columns, self._shared)

    def _source(self, facts: CaptureFacts, kind: Kind, tensors: Mapping[str, Tensors]) -> CapturedUpdates:
        """The one update as the study of captured updates takes it."""
        stored = StoredEntry(round=0, client=pseudonym("own"), kind=kind, facts=facts, before=BEFORE, sent=SENT)
        entries = (Entry(stored=stored, tensors=lambda name: tensors[name]),)
        own = self._table(self.rows) if tensors else None
        whole = own if own is None or self.client_rows is None else self._table(self.client_rows)
        return CapturedUpdates(
            name="guard",
            capture=Capture(folder=Path(), entries=entries),
            entries=entries,
            table=self._known_to_all,
            truth=own,
            client_rows=whole,
            facts=None,
            preprocessing=self._shared,
        )


class _TimeIsUp(BaseException):
    """Ends the thread of an attack when it next says how far it is; no failure of the attack."""
