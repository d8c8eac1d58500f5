"""What each captured round gave away, and what several add to one."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.several_rounds import several_rounds
from seepage.results.captured_rounds import RoundTotal, round_totals
from seepage.results.updates import UpdatesSummary

LIMIT = 200  # rounds; summary.json has all


@dataclass(frozen=True)
class RoundsView:
    """The rounds in their order, as far as a page can carry them."""

    sentences: tuple[str, ...]
    totals: tuple[RoundTotal, ...]
    left_out: int


def round_by_round(summary: UpdatesSummary) -> RoundsView | None:
    """Round by round; None where a single one was attacked."""
    if len({each.variant for each in summary.rounds}) > 1:  # one update attacked in several ways is not several
        return None
    totals = round_totals(summary.rounds)
    if len(totals) < 2:
        return None
    return RoundsView(several_rounds(totals), totals[:LIMIT], max(len(totals) - LIMIT, 0))


SECTION: Section[UpdatesSummary] = Section(
    name="round_by_round",
    title="What do several rounds add?",
    short="Round by round",
    studies=(UpdatesSummary,),
    place=15,
    view=round_by_round,
)
