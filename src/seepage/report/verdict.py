"""The plain answer: what was read back, how that compares with guessing, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from seepage._core import Outcome
from seepage.report.words import SPACE, batches, count, percent, plural
from seepage.results import BASELINES, Cell, Interval

SERIOUS_GAIN = 0.20  # this much above guessing is called a leak even when no row came back whole


class Level(Enum):
    """The traffic light. The order is that of severity: the first is the worst.

    There is no word for "safe": an attack that found nothing proves nothing, and a failed one says nothing.
    """

    LEAKS = (
        "leaks",
        "Leaks",
        "Private rows can be read back. The attack beats guessing, and it read whole rows or at least "
        "20 percentage points more cells than a guess gets right.",
    )
    SOME = (
        "some",
        "Some leakage",
        "The attack gets more right than guessing does, or read single rows whole, but the leak is limited.",
    )
    INCOMPLETE = (
        "incomplete",
        "Not fully measured",
        "Nothing was found where the attack could be measured, but some trainings or attacks failed, ran out of "
        "their budget or were tried on one batch only. That is not evidence of privacy.",
    )
    NOT_FOUND = (
        "not-found",
        "No leak found",
        "None of the tested attacks did better than guessing. This is no proof of safety: it holds for the "
        "tested attacks and settings only.",
    )
    NOT_MEASURED = (
        "not-measured",
        "Not measured",
        "No attack gave anything to score. A failed attack says nothing about privacy.",
    )

    def __init__(self, code: str, word: str, meaning: str) -> None:
        self.code = code
        self.word = word
        self.meaning = meaning


@dataclass(frozen=True, kw_only=True)
class Leak:
    """What one tested setting gave away."""

    number: int
    cell: Cell
    label: str
    trials: int
    failed: int
    outcome: str
    exposure: float
    seconds: float
    rows: int
    rows_exact: int
    rows_certified: int | None = None
    rows_guessed: int
    accuracy: Interval | None
    accuracy_num: Interval | None
    accuracy_cat: Interval | None
    exact: Interval | None
    baselines: dict[str, Interval | None]
    gain: dict[str, Interval | None]
    exact_gain: dict[str, Interval | None]

    @property
    def reads_rows(self) -> bool:
        """Whether more rows were read exactly than any guess gets: sparse tables have rows that anybody guesses."""
        gains = [value for value in self.exact_gain.values() if value]
        surely = all((gain.mean if gain.low is None else gain.low) > 0 for gain in gains)
        return bool(self.rows_exact) and (self.rows_guessed == 0 or surely)

    @property
    def measured(self) -> bool:
        return self.accuracy is not None

    @property
    def guess(self) -> str | None:
        """The baseline that guesses best: an attack must beat this one."""
        known = {name: value.mean for name in BASELINES if (value := self.baselines.get(name))}
        return max(known, key=lambda name: known[name]) if known else None

    @property
    def best_guess(self) -> Interval | None:
        return self.baselines[self.guess] if self.guess else None

    @property
    def best_gain(self) -> Interval | None:
        """The gain over the baseline that guesses best."""
        return self.gain.get(self.guess) if self.guess else None

    @property
    def level(self) -> Level:
        """Where this setting stands."""
        gained = self.best_gain
        if self.accuracy is None:
            return Level.NOT_MEASURED
        beats = gained is not None and (gained.mean if gained.low is None else gained.low) > 0
        serious = self.reads_rows or (gained is not None and gained.mean >= SERIOUS_GAIN)
        if beats and serious:
            return Level.LEAKS
        if beats or self.reads_rows:
            return Level.SOME
        spent = self.outcome == Outcome.BUDGET_SPENT.code  # with more steps it might have read more
        unsure = spent or self.failed > 0 or gained is None or gained.low is None
        return Level.INCOMPLETE if unsure else Level.NOT_FOUND

    @property
    def rank(self) -> tuple[int, float, float, float]:
        """Sorts settings; the one that leaks most is the largest."""
        severity = len(Level) - list(Level).index(self.level)
        gained = self.best_gain.mean if self.best_gain else 0.0
        return (
            severity,
            self.rows_exact / max(self.rows, 1),
            gained,
            self.accuracy.mean if self.accuracy else 0.0,
        )


@dataclass(frozen=True)
class ColumnReading:
    """How well one column was read in one setting."""

    name: str
    sensitive: bool
    attack: Interval | None
    prior: Interval | None

    @property
    def gain(self) -> float | None:
        return self.attack.mean - self.prior.mean if self.attack and self.prior else None


@dataclass(frozen=True)
class NotRun:
    """Trainings of the plan that gave no setting: they cannot be run, or an internal error stopped them."""

    impossible: int = 0
    crashed: int = 0


ALL_RUN = NotRun()


@dataclass(frozen=True)
class Verdict:
    """The answer on top of the page."""

    level: Level
    headline: str
    sentences: tuple[str, ...]
    worst: Leak | None


def overall(levels: Sequence[Level]) -> Level:
    """The light of the whole audit: the worst finding, and never better than what could be measured."""
    for level in (Level.LEAKS, Level.SOME):
        if level in levels:
            return level
    if all(level is Level.NOT_MEASURED for level in levels):
        return Level.NOT_MEASURED
    return Level.NOT_FOUND if all(level is Level.NOT_FOUND for level in levels) else Level.INCOMPLETE


def conclude(
    leaks: Sequence[Leak],
    worst_columns: Sequence[ColumnReading],
    safest: tuple[str, Leak] | None = None,
    not_run: NotRun = ALL_RUN,
) -> Verdict:
    """The verdict.

    Args:
        leaks: all tested settings.
        worst_columns: the columns of the worst setting.
        safest: the least leaking choice's name and its worst setting.
        not_run: trainings that gave no setting. One that broke down might have leaked.
    """
    level = overall([leak.level for leak in leaks])
    if level is Level.NOT_FOUND and not_run.crashed:
        level = Level.INCOMPLETE
    measured = [leak for leak in leaks if leak.measured]
    if not measured:
        headline = "Nothing could be measured, so nothing can be said about what leaks."
        return Verdict(level, headline, (*_failures(leaks), *_missing(not_run)), None)
    worst = max(measured, key=lambda leak: leak.rank)
    sentences = [
        *_people(worst),
        *_setting(worst, len(measured)),
        *_sensitive(worst_columns),
        *_safest(worst, safest),
        *_failures(leaks),
        *_missing(not_run),
    ]
    return Verdict(level, headline_of(worst), tuple(sentences), worst)


def headline_of(leak: Leak) -> str:
    """What was read in one measured setting, and what guessing gets."""
    assert leak.accuracy is not None
    reader = "an honest-but-curious server" if leak.cell.protocol.lower() in _SERVER_SEES else "the attacker"
    guess = leak.best_guess
    compared = f" Guessing from {_GUESSED[leak.guess]} gets {percent(guess.mean)}." if leak.guess and guess else ""
    return f"With {batches(leak.cell.batch_size)}, {reader} read {amount_read(leak)}.{compared}"


_SERVER_SEES = {"fedsgd", "fedavg", "vertical"}
_GUESSED = {
    "prior": "the clients' own averages",
    "marginal": "the columns of the whole data set",
    "uniform": "nothing but each column's range",
}


def amount_read(leak: Leak) -> str:
    """``54 of 80 rows exactly, and 90 % of all cells``."""
    cells = f"{percent(leak.accuracy.mean if leak.accuracy else None)} of all cells"
    if not leak.rows_exact:
        return f"no row of {count(leak.rows)} exactly, but {cells}"
    if leak.rows_exact == leak.rows:
        everything = "the one attacked row" if leak.rows == 1 else f"all {count(leak.rows)} rows"
        return f"{everything} exactly, and {cells}"
    return f"{count(leak.rows_exact)} of {count(leak.rows)}{SPACE}rows exactly, and {cells}"


def _people(leak: Leak) -> list[str]:
    """How many people's rows were read, and how many of them with a proof; only where an attack proves rows."""
    if leak.rows_certified is None:
        return []
    if leak.rows_exact == leak.rows:
        read = "The row of the one attacked person was read exactly" if leak.rows == 1 else (
            f"The rows of all {count(leak.rows)} people in the attacked batches were read exactly"
        )  # fmt: skip
    else:
        people = f"the {count(leak.rows)} people in the attacked batches"
        read = f"Of {people}, the rows of {count(leak.rows_exact)} were read exactly"
    if not leak.rows_certified:
        return [f"{read}; the attacker cannot tell which, for none of them is certified."]
    proven = "all of them" if leak.rows_certified == leak.rows_exact else count(leak.rows_certified)
    return [f"{read}; {proven} with a proof from the update itself (certified), so the attacker knows they are right."]


def _setting(worst: Leak, measured: int) -> list[str]:
    cell = worst.cell
    defence = "no defence" if cell.defense == "none" else f"defence {cell.defense}"
    described = (
        f"table {cell.dataset}, model {cell.model}, protocol {cell.protocol}, attack {cell.attack}, "
        f"attack point {cell.attack_point}, {defence}"
    )
    if cell.variant:
        described += f", {cell.variant}"
    where = (
        "This is the only setting measured" if measured == 1 else f"This is the worst of {measured} measured settings"
    )
    return [f"{where}: {described}."]


def _sensitive(columns: Sequence[ColumnReading]) -> list[str]:
    marked = [column for column in columns if column.sensitive and column.attack and column.prior]
    if not marked:
        return []
    top = max(marked, key=lambda column: column.gain or 0.0)
    assert top.attack is not None
    assert top.prior is not None
    which = (
        f"The column marked sensitive, {top.name},"
        if len(marked) == 1
        else f"Of the {len(marked)} columns marked sensitive, {top.name} gained most over guessing: it"
    )
    return [
        f"{which} was read in {percent(top.attack.mean)} of the rows there; "
        f"the clients' own averages give {percent(top.prior.mean)}."
    ]


def _safest(worst: Leak, safest: tuple[str, Leak] | None) -> list[str]:
    if safest is None or safest[1].number == worst.number:
        return []
    name, leak = safest
    return [f"The least leaking choice tested was {name}: there the attack that got furthest read {amount_read(leak)}."]


def _failures(leaks: Sequence[Leak]) -> list[str]:
    trials, failed = sum(leak.trials for leak in leaks), sum(leak.failed for leak in leaks)
    unmeasured = sum(not leak.measured for leak in leaks)
    if not leaks:
        return ["The run holds no tested setting."]
    if not failed:
        return []
    sentences = [f"{failed} of {plural(trials, 'attack')} gave nothing to score; they are counted and never averaged."]
    if unmeasured:
        sentences.append(f"{plural(unmeasured, 'setting')} could not be measured; that does not mean safe.")
    return sentences


def _missing(not_run: NotRun) -> list[str]:
    sentences = []
    if not_run.crashed:
        stopped = plural(not_run.crashed, "training was", "trainings were")
        sentences.append(f"{stopped} stopped by an internal error, so what leaks there is not known.")
    if not_run.impossible:
        sentences.append(
            f"{plural(not_run.impossible, 'training')} of the plan could not be run; see what was not tested."
        )
    return sentences
