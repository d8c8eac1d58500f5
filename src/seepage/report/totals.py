"""What was read of all rows together, in words."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.level import Level
from seepage.report.words import percent, plural
from seepage.results.interval import Interval
from seepage.results.rows import RowsResult, RowsSummary
from seepage.results.tallies import TallyResult

LARGE = 256  # rows behind an update, above which it is no longer the worst case


@dataclass(frozen=True, kw_only=True)
class Total:
    """One attack on totals in one setting."""

    label: str
    result: TallyResult

    def metric(self, name: str) -> Interval | None:
        """A number of the attack."""
        return self.result.metrics.get(name)

    def guess(self, name: str) -> Interval | None:
        """The same of a guess from public marginals."""
        return self.result.guesses.get(name)

    @property
    def beyond(self) -> bool:
        """Whether the attack is above the guess, with the whole interval; or sees what a single row has."""
        lone, guess = self.metric("lone_found"), self.guess("lone_found")
        if lone and lone.mean > (guess.mean if guess else 0.0):
            return True
        return any(value is not None and (value.low or 0.0) > 0 for value in self.result.judged.values())


def totals_of(summary: RowsSummary) -> tuple[Total, ...]:
    """Every attack on totals, as it is called in this report."""
    places = [result.place for result in summary.tallies]
    names = words.varying(places, always=("batch_size", "attack_point", "attack")) if places else []
    return tuple(
        Total(label=words.label(place, names), result=result)
        for place, result in zip(places, summary.tallies, strict=True)
    )


def level_of(totals: tuple[Total, ...]) -> Level | None:
    """What totals alone say; None where none was measured."""
    measured = [total for total in totals if total.result.measured]
    if not measured:
        return None
    return Level.SOME if any(total.beyond for total in measured) else Level.INCOMPLETE


def sentences_of(totals: tuple[Total, ...]) -> list[str]:
    """What the server learns of all rows together: of the attack that told most categories, and of the best counts."""
    measured = [total for total in totals if total.result.measured]
    told = [total for total in measured if total.metric("presence")]
    if not told:
        return []
    best = max(told, key=lambda total: _mean(total.metric("presence")))
    rows = round(best.result.rows / max(best.result.trials - best.result.failed, 1))
    found = [
        f"Of an update of {plural(rows, 'row')} the server can tell for {percent(_mean(best.metric('presence')))} of "
        f"all categories whether anybody has them; a guess from public marginals gets "
        f"{percent(_mean(best.guess('presence')))}."
    ]
    lone, many = best.metric("lone_found"), best.metric("lone")
    if lone and many and many.mean > 0:
        found.append(
            f"On average {many.mean:.1f} categories were those of a single row; {percent(lone.mean)} of them were "
            "seen, so a rare person's category shows however many rows are behind the update."
        )
    counted = [total for total in measured if total.metric("count_error")]
    if counted:
        near = min(counted, key=lambda total: _mean(total.metric("count_error")))
        found.append(
            f"How many rows have each category was estimated with {percent(_mean(near.metric('count_error')))} of the "
            f"rows in a wrong category; a guess from public marginals puts {percent(_mean(near.guess('count_error')))} "
            "wrongly."
        )
    return found


def only_small_updates(summary: RowsSummary) -> list[str]:
    """That no update of many rows was tested: real ones have them."""
    cells: list[RowsResult | TallyResult] = [*summary.cells, *summary.tallies]
    sizes = [cell.rows / (cell.trials - cell.failed) for cell in cells if cell.measured and cell.rows]
    if not sizes or max(sizes) > LARGE or len(sizes) < len(cells):
        return []
    return [
        f"Only the worst case was tested: at most {plural(round(max(sizes)), 'row')} stood behind an attacked update. "
        "Updates of thousands of rows, as hospitals send them, were not tested (--scenario cross_silo)."
    ]


def _mean(interval: Interval | None) -> float:
    return 0.0 if interval is None else interval.mean
