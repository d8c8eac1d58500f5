"""The plain answer on top of a page: what every study's verdict has in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from seepage.report.level import Level, overall
from seepage.report.words import plural
from seepage.results.facts import NotRun
from seepage.results.summary import Summary

MANY = 5  # settings, from which on one of them may be above guessing by chance
MISSES = 0.05
TRIALS = {
    "rows": ("attack", "attacks"),
    "vertical": ("attack", "attacks"),
    "updates": ("attack", "attacks"),
    "property": ("reading", "readings"),
    "parties": ("attack", "attacks"),
    "cohorts": ("attack", "attacks"),
    "servers": ("attack", "attacks"),
    "training": ("training", "trainings"),
}


def trials(study: str, amount: int) -> str:
    """So many repetitions, in the words of the study: ``12 attacks``."""
    return plural(amount, *TRIALS.get(study, ("trial", "trials")))


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One large number: ``share`` draws a bar below it, in the colour of an attack or of guessing."""

    title: str
    value: str
    note: str = ""
    share: float | None = None
    guess: bool = False

    @property
    def width(self) -> str:
        """Of the bar."""
        return f"{100 * min(max(self.share or 0.0, 0.0), 1.0):.1f}%"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer: a light and what it means, one sentence, some numbers, and what else must be said."""

    level: Level
    meaning: str
    headline: str
    tiles: tuple[Tile, ...] = ()
    sentences: tuple[str, ...] = ()


def light(levels: Sequence[Level], not_run: Sequence[NotRun]) -> Level:
    """The light of a run. What broke down, or was not reached yet, might leak: then none is said not to."""
    level = overall(levels)
    unknown = any(entry.state != "impossible" for entry in not_run)
    return Level.INCOMPLETE if level is Level.NOT_FOUND and unknown else level


def by_chance(levels: Sequence[Level]) -> list[str]:
    """A warning where hardly more settings are above guessing than are by chance: of many 95 % intervals some miss."""
    above, every = sum(level in (Level.LEAKS, Level.SOME) for level in levels), len(levels)
    if overall(levels) is not Level.SOME or every < MANY or above > math.ceil(MISSES * every):
        return []
    are = "is" if above == 1 else "are"
    return [
        f"Only {above} of {every} settings {are} above guessing. With so many, that may be chance; more trials tell."
    ]


def gaps(summary: Summary) -> list[str]:
    """What is not known: trials without a number, settings without any, parts of the plan that were not run."""
    cells = summary.cells
    sentences = [] if cells else ["The run holds no tested setting."]
    failed, unmeasured = sum(cell.failed for cell in cells), sum(not cell.measured for cell in cells)
    if failed:
        every = trials(summary.study, sum(cell.trials for cell in cells))
        sentences.append(f"{failed} of {every} gave nothing to score; they are counted and never averaged.")
    if unmeasured:
        sentences.append(f"{plural(unmeasured, 'setting')} could not be measured; that does not mean safe.")
    unfinished = [summary.unfinished.sentence] if summary.unfinished else []
    return [*unfinished, *sentences, *_not_run(summary.not_run)]


def _not_run(not_run: Sequence[NotRun]) -> list[str]:
    states = Counter(entry.state for entry in not_run)
    sentences = []
    if amount := states["crashed"]:
        stopped = plural(amount, "part of the plan was", "parts of the plan were")
        sentences.append(f"{stopped} stopped by an internal error, so what leaks there is not known.")
    if amount := states["missing"]:
        sentences.append(
            f"{plural(amount, 'part')} of the plan {'was' if amount == 1 else 'were'} not reached yet, so what leaks "
            "there is not known."
        )
    if amount := states["impossible"]:
        sentences.append(f"{plural(amount, 'part')} of the plan could not be run; see what was not tested.")
    return sentences
