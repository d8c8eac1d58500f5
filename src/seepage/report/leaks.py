"""What each tested setting gave away of rows: the studies of clients' updates and of vertical gradients alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from seepage.report import words
from seepage.report.level import Level, level_of
from seepage.report.words import SPACE, count, percent
from seepage.results import BASELINES, Interval
from seepage.results.cells import Coordinate
from seepage.results.rows import RowsResult, RowsSummary
from seepage.results.updates import UpdatesResult, UpdatesSummary
from seepage.results.vertical import VerticalResult, VerticalSummary

ReadRows = RowsSummary | VerticalSummary | UpdatesSummary
ReadResult = RowsResult | VerticalResult | UpdatesResult

# What a guess is made from. In vertical learning there are no clients: it is the aligned rows themselves.
_GUESSES = {
    "rows": {"prior": "the clients' own averages", "marginal": "the columns of the whole data set"},
    "vertical": {"prior": "the averages of these rows", "marginal": "the columns of these rows"},
    "updates": {"prior": "the client's own averages", "marginal": "the columns of a table like it"},
}
_SERVER_SEES = {"fedsgd", "fedavg"}


@dataclass(frozen=True, kw_only=True)
class Leak:
    """One tested setting: its number in the report's tables, what it is called, and what was read there."""

    number: int
    label: str
    place: dict[str, Coordinate]
    result: ReadResult

    @property
    def study(self) -> str:
        """Whose words are used."""
        return self.result.cell.study

    @property
    def accuracy(self) -> Interval | None:
        """Share of cells read."""
        return self.result.metrics.get("accuracy")

    @property
    def measured(self) -> bool:
        return self.accuracy is not None

    @property
    def read_all(self) -> bool:
        """Whether nothing is left to read."""
        return self.result.rows_exact == self.result.rows

    @cached_property
    def guess(self) -> str | None:
        """The baseline that guesses best: an attack must beat this one."""
        known = {name: value.mean for name in BASELINES if (value := self.result.baselines.get(name))}
        return max(known, key=lambda name: known[name]) if known else None

    @property
    def best_guess(self) -> Interval | None:
        return self.result.baselines[self.guess] if self.guess else None

    @property
    def best_gain(self) -> Interval | None:
        """The gain over the baseline that guesses best."""
        return self.result.gain.get(self.guess) if self.guess else None

    @property
    def reads_rows(self) -> bool:
        """Whether more rows were read, nearly at least, than any guess gets: some rows anybody guesses."""
        gains = [value for value in self.result.emr_gain.values() if value]
        surely = all((gain.mean if gain.low is None else gain.low) > 0 for gain in gains)
        return bool(self.result.rows_near) and (self.result.rows_guessed_near == 0 or surely)

    @property
    def only_guesses(self) -> bool:
        """Whether guessing gets as many cells right: then what the attack "read" is not worth a number."""
        guess = self.best_guess
        return self.accuracy is not None and guess is not None and self.accuracy.mean <= guess.mean

    @cached_property
    def level(self) -> Level:
        """Where this setting stands."""
        if self.accuracy is None:
            return Level.NOT_MEASURED
        proven = bool(self.result.rows_certified) and self.result.rows_exact > 0
        return level_of(self.result, self.best_gain, reads_rows=self.reads_rows, proven=proven)

    @cached_property
    def rank(self) -> tuple[int, float, float, float, float]:
        """Sorts settings; the one that leaks most is the largest."""
        gain = self.best_gain.mean if self.best_gain else 0.0
        rows = max(self.result.rows, 1)
        exact, near = self.result.rows_exact / rows, self.result.rows_near / rows
        return self.level.severity, exact, near, gain, self.accuracy.mean if self.accuracy else 0.0


def leaks_of(summary: ReadRows) -> tuple[Leak, ...]:
    """Every tested setting, numbered in the order of the summary and named by what differs."""
    # What was read of captured updates is nobody's to compare, unless the rows were given.
    cells: list[ReadResult] = [each for each in summary.cells if not isinstance(each, UpdatesResult) or each.with_truth]
    places = [cell.place for cell in cells]
    names = words.varying(places, otherwise=("batch_size", "attack"))
    return tuple(
        Leak(number=number, label=words.label(place, names), place=place, result=cell)
        for number, (place, cell) in enumerate(zip(places, cells, strict=True), start=1)
    )


def with_truth(view: Callable[[ReadRows], object | None]) -> Callable[[ReadRows], object | None]:
    """A view that has nothing to say of captured updates whose rows nobody knows."""

    def known(summary: ReadRows) -> object | None:
        untold = isinstance(summary, UpdatesSummary) and not any(c.captured and c.with_truth for c in summary.cells)
        return None if untold else view(summary)

    return known


def worst_of(leaks: Sequence[Leak]) -> Leak | None:
    """The measured setting that leaks most; None if nothing was measured."""
    return max((leak for leak in leaks if leak.measured), key=lambda leak: leak.rank, default=None)


def guessed_from(study: str, guess: str) -> str:
    """What a guess is made from, in words."""
    return _GUESSES[study].get(guess, "nothing but each column's range")


def reader_of(result: ReadResult) -> str:
    """Who reads."""
    server = isinstance(result, VerticalResult) or result.protocol.lower() in _SERVER_SEES
    return "an honest-but-curious server" if server else "the attacker"


def amount_read(leak: Leak) -> str:
    """``54 of 80 rows exactly (60 nearly), and 90 % of all cells``; nearly is the papers' tolerance."""
    result = leak.result
    cells = f"{percent(leak.accuracy.mean if leak.accuracy else None)} of all cells"
    if leak.only_guesses:
        cells = "no more cells than guessing gets"
    more = f"{count(result.rows_near)} nearly" if result.rows_near > result.rows_exact else ""
    if result.rows_exact == result.rows:
        everything = "the one attacked row" if result.rows == 1 else f"all {count(result.rows)} rows"
        return f"{everything} exactly, and {cells}"
    if not result.rows_exact and more:
        return f"no row of {count(result.rows)} exactly but {more}, and {cells}"
    if not result.rows_exact:
        return f"no row of {count(result.rows)}, {'and' if leak.only_guesses else 'but'} {cells}"
    beside = f" ({more})" if more else ""
    return f"{count(result.rows_exact)} of {count(result.rows)}{SPACE}rows exactly{beside}, and {cells}"
