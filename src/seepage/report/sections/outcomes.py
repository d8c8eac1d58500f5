"""How the trials of a run ended: a failed attack is counted, and is no evidence of privacy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from seepage._core import Outcome
from seepage.report.section import Section
from seepage.report.verdict import trials
from seepage.results.summary import Summary


@dataclass(frozen=True, kw_only=True)
class Ending:
    """One way to end, and what it means."""

    name: str
    amount: int
    scored: bool
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """All endings."""

    made: str
    failed: int
    endings: tuple[Ending, ...]


def outcomes(summary: Summary) -> Outcomes | None:
    """How many trials ended how; nothing if there were none."""
    amounts = Counter[str]()
    for cell in summary.cells:
        amounts.update(cell.outcomes)
    if not amounts:
        return None
    amount = sum(cell.trials for cell in summary.cells)
    return Outcomes(
        made=f"{trials(summary.study, amount)} {'was' if amount == 1 else 'were'} made",
        failed=sum(cell.failed for cell in summary.cells),
        endings=tuple(_ending(code, amounts[code]) for code in sorted(amounts)),
    )


def _ending(code: str, amount: int) -> Ending:
    known = next((outcome for outcome in Outcome if outcome.code == code), None)
    meaning = f"{known.reason} {known.advice}" if known else "An ending this version does not know."
    return Ending(name=code.replace("_", " "), amount=amount, scored=bool(known and known.scored), meaning=meaning)


SECTION = Section(
    name="outcomes", title="What failed", short="What failed", studies=(Summary,), place=92, view=outcomes
)
