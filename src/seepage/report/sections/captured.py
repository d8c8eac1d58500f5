"""What was captured: whose updates, by which rules, and what looks wrong about them."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.words import count, plural
from seepage.results.updates import CapturedUpdate, UpdatesSummary

LIMIT = 100  # lines; the capture has all


@dataclass(frozen=True)
class CapturedLine:
    """One update."""

    client: str
    round: int
    sent: str
    rules: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class CapturedView:
    """All updates, as far as a page can carry them."""

    lines: tuple[CapturedLine, ...]
    left_out: int


def captured(summary: UpdatesSummary) -> CapturedView | None:
    """The updates; None where none was reached."""
    if not summary.updates:
        return None
    lines = tuple(_line(update) for update in summary.updates[:LIMIT])
    return CapturedView(lines, max(len(summary.updates) - LIMIT, 0))


def _line(update: CapturedUpdate) -> CapturedLine:
    remarks = (*((update.why_not,) if update.why_not else ()), *update.warnings)
    return CapturedLine(update.client, update.round, update.sent, _rules(update), remarks)


def _rules(update: CapturedUpdate) -> str:
    """How the update came about, in words."""
    facts = update.facts
    rows = plural(int(facts["rows"] or 0), "row")
    if update.sent == "a gradient":
        return f"one batch of {rows}"
    batch = f"batches of {count(float(facts['batch_size']))}" if facts["batch_size"] else "batch size not known"
    rate = f"rate {facts['learning_rate']:g}" if facts["learning_rate"] else "rate not known"
    return f"{rows}, {batch}, {plural(int(facts['local_epochs'] or 1), 'local epoch')}, {facts['optimiser']}, {rate}"


SECTION: Section[UpdatesSummary] = Section(
    name="captured",
    title="What was captured",
    short="What was captured",
    studies=(UpdatesSummary,),
    place=14,
    view=captured,
)
