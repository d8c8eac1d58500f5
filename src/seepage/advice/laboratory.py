"""Measures settings: each stage is a plan of the study of rows, run and stored as any other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seepage._core import InputError, Progress, silent
from seepage._core.stopwatch import duration
from seepage.advice.measured import Finding, read_findings
from seepage.advice.space import Candidate
from seepage.advice.stages import CONFIRM, LEAST, SCREEN, TRAIN, Stage
from seepage.advice.state import Chunk, State
from seepage.results.rows import RowsSummary
from seepage.runs.api import run
from seepage.runs.backends import Backend
from seepage.runs.plan import Plan, make_plan
from seepage.runs.probe import estimate
from seepage.runs.threads import own_threads
from seepage.studies.study import Opened

EXPOSURES = (25.0, 10.0, 5.0, 2.0, 1.0)  # passes over the rows that a search may train for
TRAININGS = 20  # that a search makes, about: the longest exposure is taken with which they take a third of the time
SMALLER = (1.0, 0.5, 1 / 3, 1 / 6)  # of the updates that confirm a setting, where time is short; one training at least
ROOM = 8  # times what any answer takes is a budget in which a search can look around
SEEDS = 1000  # between the seeds of two stages


@dataclass(kw_only=True, eq=False)
class Laboratory:
    """Where settings are measured.

    Args:
        table: what the user said about the table, as in a plan.
        source: the table, opened.
        folder: of the search; runs are below it.
        state: what was done.
        plain: the setting that others are compared with.
        budget: seconds in all.
    """

    table: Mapping[str, Any]
    source: Opened
    task: str
    folder: Path
    state: State
    plain: Candidate
    budget: float
    seed: int = 0
    clients: int = 10
    jobs: int = 1
    backend: Backend | None = None
    progress: Progress = silent
    tell: Callable[[str], None] = field(default=lambda line: None)
    told: set[str] = field(default_factory=set)
    confirmed_trials: int = 0

    def __post_init__(self) -> None:
        self._before, self._begun = self.state.used, time.monotonic()
        self._more = self.budget > self.state.budget  # so what was confirmed in a hurry may be confirmed better
        self._closed: set[str] = set()  # stages whose time is gone
        self.state.budget = max(self.budget, self.state.budget)

    @property
    def used(self) -> float:
        """Seconds of this search: of earlier sessions in runs, of this one in all."""
        return self._before + time.monotonic() - self._begun

    def trials(self, stage: Stage) -> int:
        """Attacked updates of a stage: every client of every training."""
        return stage.federations * self.clients

    def plan(self, stage: Stage, every: Sequence[Candidate], trials: int, only_worth: Candidate | None = None) -> Plan:
        """The plan that measures settings: a case for each, named after it."""
        cases = [{"name": each.name, **each.values(), "attacks": list(stage.attacks(each))} for each in every]
        if only_worth is not None:
            cases.append({"name": only_worth.name, **only_worth.values(), "attacks": [LEAST]})
        return make_plan(
            {
                **self.table,
                "trials": trials,
                "clients": self.clients,
                "seed": self.seed + SEEDS * stage.place,
                "exposure": self.state.exposure if stage.trained else 0.0,
                "attack_points": ["initialized", "final"] if stage.trained else ["initialized"],
                "cases": cases,
            }
        )

    def possible(self, every: Sequence[Candidate]) -> tuple[list[Candidate], dict[Candidate, str]]:
        """Settings that can be run on this table, and why others cannot; the plain one must be."""
        found, reasons = [], {}
        for candidate in every:
            try:
                plan = self.plan(SCREEN, [candidate], self.trials(SCREEN))
                task = plan.tasks[0]
                plan.study.check(self.source, task.variant.settings, task.choice)
            except InputError as error:
                if candidate == self.plain:
                    raise
                reasons[candidate] = str(error)
            else:
                found.append(candidate)
        return found, reasons

    def seconds(self, stage: Stage, every: Sequence[Candidate], trials: int) -> float:
        """What a stage would take, from a short trial of every kind of work in it."""
        plan = self.plan(stage, every, trials)
        with own_threads():
            found = estimate(plan, [self.source] * len(plan.variants), limit=0.02 * self.budget)
        return found.seconds / min(self.jobs, len(every))

    def settle_exposure(self, asked: float | None, sample: Candidate) -> None:
        """How long models are trained: as was asked, or as long as the budget allows. Too small a budget is told."""
        if self.state.exposure:
            return
        self.state.exposure = asked or EXPOSURES[-1]
        single, pair = self._smallest(sample)
        if pair > 0.8 * self.budget:  # the first time anything is done takes longest
            single, pair = self._smallest(sample)
        if pair > 0.8 * self.budget:
            raise InputError(
                f"A budget of {duration(self.budget)} is too small to test anything: the plain setting and one other "
                f"take about {duration(pair)}. Give --budget {math.ceil(pair * ROOM / 60)}m or more."
            )
        if asked is None:
            fit = [each for each in EXPOSURES if each * single * TRAININGS <= 0.3 * self.budget * self.jobs]
            self.state.exposure = max(fit, default=EXPOSURES[-1])
        self.state.save(self.folder)

    def _smallest(self, sample: Candidate) -> tuple[float, float]:
        """Seconds of one training of the plain setting; and of all that must be trained for any answer."""
        single = self.seconds(TRAIN, [self.plain], self.clients)
        return single, TRAIN.federations * (single + self.seconds(TRAIN, [sample], self.clients))

    def measure(
        self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None = None
    ) -> dict[Candidate, Finding] | None:
        """Run a stage on settings, or read what is stored of it; None when its time is gone."""
        chunk = self._chunk(stage, every, only_worth)
        if chunk is None:
            return None
        self._say(stage, every, chunk)
        begun = time.monotonic()
        plan = self.plan(stage, every, chunk.trials, only_worth)
        summary = run(
            plan,
            out=self.folder / chunk.folder,
            command="seepage advise",
            sources=[self.source] * len(plan.variants),
            backend=self.backend,
            progress=self.progress,
        )
        if chunk.seconds is None:
            chunk.seconds = time.monotonic() - begun
            self.state.save(self.folder)
        if stage is CONFIRM:
            self.confirmed_trials = chunk.trials
        assert isinstance(summary, RowsSummary)
        seed = self.seed + SEEDS * stage.place
        every = [*every, *([only_worth] if only_worth else [])]
        found = read_findings(summary, every, stage.name, seed, self.task, only_worth)
        # A model that was never trained has no worth to compare.
        return found if stage.trained else {each: replace(one, scores={}) for each, one in found.items()}

    def _chunk(self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None) -> Chunk | None:
        """The run that measures these settings: a stored one, or a new one if there is time."""
        stored = self.state.find(stage.name, list(every))
        hurried = stored is not None and stage is CONFIRM and self._more and stored.trials < self.trials(stage)
        if stored is not None and not hurried:
            return stored
        trials = None if stage.name in self._closed else self._fitting(stage, every)
        if trials is None and stage is not CONFIRM:  # one setting may be confirmed sooner than another
            self._closed.add(stage.name)
        if trials is None or (stored is not None and trials <= stored.trials):
            return stored
        chunk = Chunk(
            folder=f"{stage.name}-{1 + sum(each.stage == stage.name for each in self.state.chunks):02}",
            stage=stage.name,
            settings=[vars(each) for each in every],
            only_worth=None if only_worth is None else vars(only_worth),
            trials=trials,
        )
        self.state.chunks.append(chunk)
        self.state.save(self.folder)
        return chunk

    def _fitting(self, stage: Stage, every: Sequence[Candidate]) -> int | None:
        """Updates that can be attacked in the time that is left for a stage; None if it is gone."""
        left, trials = stage.until * self.budget - self.used, self.trials(stage)
        if stage is not CONFIRM:
            must = self.plain in every
            return trials if must or (left > 0 and self._expected(stage, every, trials) <= left) else None
        if left <= 0:  # to try what it would take is work, too
            return None
        whole = self.seconds(stage, every, trials)
        left = stage.until * self.budget - self.used
        many = [round(trials * share) for share in SMALLER if share * whole <= 0.9 * left]
        return max(many, default=None)

    def _expected(self, stage: Stage, every: Sequence[Candidate], trials: int) -> float:
        """Seconds: those of the stage so far, or of a short trial before it."""
        known = [each for each in self.state.chunks if each.stage == stage.name and each.seconds is not None]
        if not known:
            return self.seconds(stage, every, trials)
        return sum(each.seconds or 0.0 for each in known) / sum(len(each.settings) for each in known) * len(every)

    def _say(self, stage: Stage, every: Sequence[Candidate], chunk: Chunk) -> None:
        if stage.name not in self.told or stage is CONFIRM:
            self.told.add(stage.name)
            passes = "1 pass" if self.state.exposure == 1 else f"{self.state.exposure:g} passes"
            self.tell(_SAID[stage.name].format(trials=chunk.trials, name=every[0].name, passes=passes))


_SAID = {
    "screen": "Screening: quick attacks on {trials} first updates of every setting ...",
    "train": "Training what survived for {passes} over the rows, and attacking {trials} updates of each ...",
    "longer": "Looking longer at the most promising settings: {trials} updates of each, full-length attack ...",
    "confirm": "Confirming {name}: every attack at full length on {trials} fresh updates ...",
}
