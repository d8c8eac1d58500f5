"""What several rounds of a federation add to one: said as far as it can be known without storing a row."""

from __future__ import annotations

from collections.abc import Sequence

from seepage.report.words import count, plural
from seepage.results.captured_rounds import RoundTotal


def several_rounds(totals: Sequence[RoundTotal]) -> tuple[str, ...]:
    """In sentences; none where no round was attacked."""
    if not totals:
        return ()
    return (*_rows(totals), *_categories(totals), *_together(totals))


def _rows(totals: Sequence[RoundTotal]) -> list[str]:
    last = totals[-1]
    if last.certified_sum is None or last.certified_best is None:
        return ["No attack that proves rows could be mounted. That says nothing about privacy."]
    if not last.certified_sum:
        return ["No row is certified. That is not evidence of privacy."]
    if len(totals) == 1:
        return [f"{plural(last.certified_sum, 'row')} certified, in one round."]
    added = f"Certified rows of {len(totals)} rounds add up to {count(last.certified_sum)}."
    if last.certified_best == last.certified_sum:
        return [f"{added} No client has certified rows in two rounds, so they are different ones."]
    return [
        f"{added} They are at least {count(last.certified_best)} different ones, each client's best round, if no two "
        "clients share a row. No row is stored, so one that is certified in two rounds cannot be told from two.",
    ]


def _categories(totals: Sequence[RoundTotal]) -> list[str]:
    first, last = totals[0].present_so_far, totals[-1].present_so_far
    if first is None or last is None or len(totals) == 1:
        return []
    return [
        f"The first round told of {plural(first, 'category', 'categories')} that somebody has, added up over clients; "
        f"later rounds told of {count(last - first) if last > first else 'no'} more."
    ]


def _together(totals: Sequence[RoundTotal]) -> list[str]:
    if len(totals) == 1:
        return []
    return ["Every round is attacked by itself. An attack that joins rounds may read more than is told here."]
