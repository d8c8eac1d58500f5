"""How the trials of a run ended: a failed attack is counted, and is no evidence of privacy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from seepage._core import Outcome
from seepage.report.section import Section
from seepage.report.verdict import trials
from seepage.results.result import ENDINGS
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
    amounts = Counter[tuple[str, bool]]()
    for cell in summary.cells:
        for code, amount in cell.outcomes.items():
            amounts[code, cell.read_everything] += amount
    if not amounts:
        return None
    amount = sum(cell.trials for cell in summary.cells)
    return Outcomes(
        made=f"{trials(summary.study, amount)} {'was' if amount == 1 else 'were'} made",
        failed=sum(cell.failed for cell in summary.cells),
        endings=tuple(_endings(amounts)),
    )


def _endings(amounts: Counter[tuple[str, bool]]) -> Iterator[Ending]:
    """Every ending; attacks that used their budget and read everything are told apart from those that might go on."""
    spent = Outcome.BUDGET_SPENT.code
    for code in sorted({code for code, _ in amounts}):
        known = next((outcome for outcome in Outcome if outcome.code == code), None)
        meaning = f"{known.reason} {known.advice}".strip() if known else "An ending this version does not know."
        scored, name = bool(known and known.scored), ENDINGS.get(code, code.replace("_", " "))
        if code == spent and amounts[code, True]:
            yield Ending(name="all read", amount=amounts[code, True], scored=True, meaning=_ALL_READ)
        amount = amounts[code, False] + (0 if code == spent else amounts[code, True])
        if amount:
            yield Ending(name=name, amount=amount, scored=scored, meaning=meaning)


_ALL_READ = "The attack went on to the end of its budget, and read every row exactly: there was nothing left to read."


SECTION = Section(
    name="outcomes",
    title="How the attacks ended",
    short="How attacks ended",
    studies=(Summary,),
    place=92,
    view=outcomes,
)
