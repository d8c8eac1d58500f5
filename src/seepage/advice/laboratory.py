"""Measures settings: each stage is a plan of the study of rows, run and stored as any other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seepage._core import InputError, Progress, silent
from seepage._core.stopwatch import duration
from seepage.advice.clock import Clock, OutOfTime
from seepage.advice.costs import Costs, rates_of
from seepage.advice.measured import Finding, read_findings
from seepage.advice.space import Candidate
from seepage.advice.stages import ARSENAL, CONFIRM, CONFIRMING, COUNTING, LEAST, LONGER, SCREEN, TRAIN, Stage
from seepage.advice.state import Chunk, State
from seepage.results.rows import RowsSummary
from seepage.runs.api import run
from seepage.runs.backends import Backend
from seepage.runs.plan import Plan, make_plan
from seepage.runs.probe import estimate
from seepage.runs.threads import own_threads
from seepage.studies.study import Opened

EXPOSURES = (25.0, 10.0, 5.0, 3.0, 1.0)  # passes over the rows that a search may train for
TRAININGS = 100  # that a search makes, about: the longest exposure is taken with which they take a third of the time
# Shares of the updates that confirm a setting, where time is short.
SMALLER = {ARSENAL.name: (1.0, 0.5, 0.3), CONFIRM.name: (1.0, 2 / 3, 0.5, 1 / 3, 1 / 6)}
SPARE = 1.3  # times what confirming is expected to take is kept for it
KEPT = 0.5  # of the budget is kept for confirming, at most
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
    working: bool = False  # whether something was run in this session, so that processes have started

    def __post_init__(self) -> None:
        self.clock = Clock(self.budget, self.state.used)
        has_categories = any(each.cardinality is not None for each in self.source.describe().columns)
        self._counting = (COUNTING,) if has_categories else ()
        self._more = self.budget > self.state.budget  # so what was confirmed in a hurry may be confirmed better
        self.state.budget = max(self.budget, self.state.budget)

    @property
    def named(self) -> bool:
        """Whether a plan can name the table: a frame is nothing that a file could name."""
        return isinstance(self.table.get("data"), str | Path)

    def trials(self, stage: Stage) -> int:
        """Attacked updates of a stage: every client of every training."""
        return max(2, round(stage.federations * self.clients))

    def plan(self, stage: Stage, every: Sequence[Candidate], trials: int, only_worth: Candidate | None = None) -> Plan:
        """The plan that measures settings: a case for each, named after it."""
        counting = self._counting if stage.judged else ()
        cases = [{"name": each.name, **each.values(), "attacks": [*stage.attacks(each), *counting]} for each in every]
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
        pair = self._smallest(sample)
        if pair > 0.8 * self.budget:  # the first time anything is done takes longest
            pair = self._smallest(sample)
        if pair > 0.8 * self.budget:
            raise InputError(
                f"A budget of {duration(self.budget)} is too small to test anything: the plain setting and one other "
                f"take about {duration(pair)}. Give --budget {math.ceil(pair * ROOM / 60)}m or more."
            )
        if asked is None:
            single = self._of_one_pass()
            fit = [each for each in EXPOSURES if each * single * TRAININGS <= 0.3 * self.budget * self.jobs]
            self.state.exposure = max(fit, default=EXPOSURES[-1])
        self.state.save(self.folder)

    def _smallest(self, sample: Candidate) -> float:
        """Seconds of all that must be trained for any answer."""
        return TRAIN.federations * self.seconds(TRAIN, [self.plain, sample], self.clients)

    def _of_one_pass(self) -> float:
        """Seconds that one more pass over the rows takes the plain setting: attacks and scoring stay the same."""
        taken = []
        for passes in (EXPOSURES[-1], EXPOSURES[-2]):
            self.state.exposure = passes
            taken.append(self.seconds(LONGER, [self.plain], self.clients))
        return max(taken[1] - taken[0], 0.0) / (EXPOSURES[-2] - EXPOSURES[-1])

    def measure(
        self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None = None
    ) -> dict[Candidate, Finding] | None:
        """Run a stage on settings, or read what is stored of it; None when there is no time for any of them."""
        stored = self._stored(stage, every) if only_worth is None else {}
        rest = [each for each in every if each not in stored]
        found = self._measure(stage, rest, only_worth) if rest else {}
        return {**stored, **(found or {})} or None

    def _stored(self, stage: Stage, every: Sequence[Candidate]) -> dict[Candidate, Finding]:
        """What earlier runs measured, with whatever settings beside: another number of processes groups them anew."""
        found: dict[Candidate, Finding] = {}
        for chunk in self.state.finished(stage.name):
            settings = [Candidate(**each) for each in chunk.settings]
            if chunk.only_worth is None and settings != list(every) and set(settings) & set(every):
                of_run = self._measure(stage, settings, None) or {}
                found |= {each: one for each, one in of_run.items() if each in every}
        return found

    def _measure(
        self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None
    ) -> dict[Candidate, Finding] | None:
        """One run of settings together, stored or new."""
        chunk = self._chunk(stage, every, only_worth)
        if chunk is None:
            return None
        self._say(stage, every, chunk)
        summary = self._run(chunk, self.plan(stage, every, chunk.trials, only_worth))
        if summary is None:
            return None
        if chunk.seconds is None:
            chunk.seconds, chunk.rates = self.clock.lap() + chunk.spent, rates_of(every, summary.cells)
            self.state.save(self.folder)
        seed = self.seed + SEEDS * stage.place
        every = [*every, *([only_worth] if only_worth else [])]
        found = read_findings(summary, every, stage.name, seed, self.task, only_worth)
        if not stage.judged:
            return {each: replace(one, only_worth=True) for each, one in found.items()}
        # A model that was never trained has no worth to compare.
        return found if stage.trained else {each: replace(one, scores={}) for each, one in found.items()}

    def _run(self, chunk: Chunk, plan: Plan) -> RowsSummary | None:
        """The summary of a run; None if the budget ended before it did. What it has done is kept, and gone on with."""
        self.clock.start()
        over = chunk.seconds is not None  # all of it is stored: reading it is no work
        chunk.first = chunk.first or not (over or self.working)
        self.working = self.working or not over
        try:
            summary = run(
                plan,
                out=self.folder / chunk.folder,
                command="seepage advise",
                sources=[self.source] * len(plan.variants),
                backend=self.backend,
                progress=self.progress if over else self.clock.ending(self.progress),
            )
        except (OutOfTime, KeyboardInterrupt) as stop:
            chunk.spent += self.clock.lap()
            self.state.save(self.folder)
            if isinstance(stop, KeyboardInterrupt):
                raise
            return None
        assert isinstance(summary, RowsSummary)
        return summary

    def _chunk(self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None) -> Chunk | None:
        """The run that measures these settings: a stored one, or a new one if there is time."""
        stored = self.state.find(stage.name, list(every))
        done = stored is not None and stored.seconds is not None
        hurried = stored is not None and stage is CONFIRM and self._more and stored.trials < self.trials(stage)
        if stored is not None and done and not hurried:
            return stored
        trials = self._fitting(stage, every)
        if stored is not None and (trials is None or trials <= stored.trials):
            return stored if done or trials is not None else None
        if trials is None:
            return None
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
        """Updates that can be attacked in the time that is left for a stage; None if there is no time for it."""
        trials, costs = self.trials(stage), Costs(self.state.chunks, self.clients, self.jobs)
        confirms, whole = stage.name in CONFIRMING, self.budget - self.clock.used
        kept = 0.0 if confirms or stage.until == 1 else self._kept(costs, every)  # 1: nothing else is waiting
        left = min(stage.until * self.budget - self.clock.used, whole - kept)
        if self.plain in every and not confirms:  # others are nothing without it
            return trials
        if left <= 0:
            return None
        for many in (max(2, round(trials * share)) for share in SMALLER.get(stage.name, (1.0,))):
            expected = costs.seconds(stage, every, many, beside=confirms and self.plain not in every)
            if expected is None or expected <= left:
                return many
        return None

    def _kept(self, costs: Costs, every: Sequence[Candidate]) -> float:
        """Seconds that are not touched before confirming: as much as it takes with the fewest updates."""
        fewest = max(2, round(self.trials(ARSENAL) * SMALLER[ARSENAL.name][-1]))
        needed = costs.seconds(ARSENAL, every[-1:], fewest, beside=True)
        return min(SPARE * (needed or 0.0), KEPT * self.budget)

    def _say(self, stage: Stage, every: Sequence[Candidate], chunk: Chunk) -> None:
        if stage.name not in self.told or stage.name in CONFIRMING:
            self.told.add(stage.name)
            passes = "1 pass" if self.state.exposure == 1 else f"{self.state.exposure:g} passes"
            self.tell(_SAID[stage.name].format(trials=chunk.trials, name=every[0].name, passes=passes))


_SAID = {
    "screen": "Screening: quick attacks on {trials} first updates of every setting ...",
    "train": "Training what survived for {passes} over the rows, and attacking {trials} updates of each ...",
    "press": "Pressing the most promising settings: full-length attacks on {trials} first updates of each ...",
    "longer": "Training the best few again, to tell what they cost ...",
    "arsenal": "Every attack at full length on {trials} fresh updates of {name} ...",
    "confirm": "Confirming {name}: the same on {trials} more ...",
}
