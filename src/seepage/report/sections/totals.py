"""What leaks at any size: categories that are there, how many rows have them, classes and means."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.totals import Total, totals_of
from seepage.results.rows import RowsSummary
from seepage.results.tallies import TallyColumn

MOST = 40  # columns that are shown


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The attacks on totals, and the columns of the one that told most."""

    every: tuple[Total, ...]
    columns: tuple[TallyColumn, ...]
    where: str

    @property
    def counts(self) -> bool:
        """Whether rows were counted."""
        return any(total.metric("count_error") for total in self.every)

    @property
    def others(self) -> tuple[tuple[str, str], ...]:
        """Classes and means, where they were worked out."""
        named = (("label_error", "classes: rows put into a wrong one"), ("mean_error", "means: error in deviations"))
        return tuple(each for each in named if any(total.metric(each[0]) for total in self.every))


def totals(summary: RowsSummary) -> Totals | None:
    """Nothing where no attack on totals was run."""
    every = totals_of(summary)
    if not every:
        return None
    counted = [total for total in every if total.result.measured and total.metric("count_error")]
    shown = next(iter(counted), next((total for total in every if total.result.measured), every[0]))
    return Totals(every=every, columns=shown.result.columns[:MOST], where=shown.label)


SECTION: Section[RowsSummary] = Section(
    name="totals",
    title="What can be told of all rows together?",
    short="All rows together",
    studies=(RowsSummary,),
    place=22,
    view=totals,
)
