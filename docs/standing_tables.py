"""The first part of docs/results.md: for every table of every paper, how many cells were run and where they stand.

Counts come from reproductions/results; causes, reasons and hours are kept by hand in docs/causes.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seepage.reproductions.causes import Causes, Differences, PaperNotes, TableNotes, read_causes
from seepage.reproductions.paper import NAMES, Paper, PaperTable, find_paper
from seepage.reproductions.published import numbers_of
from seepage.reproductions.standing import Standing, standing
from seepage.reproductions.stored import read_table
from seepage.reproductions.transcribed import read_transcribed

HERE = Path(__file__).parent
CAUSES = HERE / "causes.toml"
RESULTS = HERE.parent / "reproductions" / "results"
NO_CAUSE = "no cause is kept of this run"


@dataclass(frozen=True)
class Line:
    """One run of a table, or that there is none.

    Args:
        kind: stored, transcribed or not run.
        run: that in words, with its share of the work or its hours.
        hours: of one core, for all of the work; None where nobody tried.
    """

    table: PaperTable
    kind: str
    run: str
    published: int
    counts: Standing
    why: str
    hours: float | None

    def cells(self) -> list[str]:
        """As a line of a Markdown table."""
        counts = self.counts
        stand = f"{counts.within} / {counts.above} / {counts.below}" if counts.cells else ""
        if self.kind == "stored" and counts.cells:
            stand += f"; {counts.weaker} weaker" + (f", {counts.clearly} clearly" if counts.weaker else "")
        run = f"{counts.cells} of {self.published}" if counts.cells else f"0 of {self.published}"
        return [f"**{self.table.number}** {self.table.title}", self.run, run, stand, self.why]


def standings(causes: Causes | None = None) -> str:
    """Totals of every paper, then a line for every table."""
    kept = causes or read_causes(CAUSES)
    lines = {name: list(lines_of(find_paper(name), kept.papers[name])) for name in NAMES}
    parts = [_table(("paper", *HEAD), [_total(find_paper(name), each) for name, each in lines.items()])]
    head = ("table", "run", "cells", "within / above / below", "why they differ, or why it was not run")
    for name, each in lines.items():
        paper = find_paper(name)
        parts.append(f"### {_capital(paper.short)}, table by table")
        parts.append(f"[What differs from the paper, and why](papers/{name}.md).")
        parts.append(_table(head, [line.cells() for line in each]))
    return "\n\n".join(parts)


HEAD = (
    "tables",
    "stored: tables, cells",
    "within / above / below",
    "weaker than published",
    "transcribed: tables, cells",
    "within / above / below",
    "not run: tables",
    "their hours of one core, at most",
)


def lines_of(paper: Paper, notes: PaperNotes) -> Iterator[Line]:
    """The lines of a paper: a table that was stored and transcribed has two."""
    for table in paper.tables:
        kept = notes.tables.get(table.number, TableNotes())
        count = len(numbers_of(paper.numbers, table.stands_in or table.number))
        cost = notes.hours.get(table.number)
        hours = "" if cost is None else f": {_hours(cost)}"
        file = RESULTS / paper.name / f"{table.number}.json"
        if file.exists():
            stored = read_table(file)
            share = "all of the work" if stored.scale == 1 else f"{100 * stored.scale:.2g} % of the work"
            counts = standing(stored.cells, describes=table.describes)
            part = "--only" in stored.command and (counts.cells < count or not count)
            known = kept.stored if kept.stored.begun == stored.created else Differences()
            why = _why(counts, known) if count else "The paper prints no numbers of it."
            yield Line(table, "stored", f"stored{' in part' * part}, {share}", count, counts, why, cost)
        if kept.earlier is not None:
            cells = [
                cell
                for pairs in kept.earlier.pairs
                for cell in pairs.cells(read_transcribed(RESULTS / "earlier" / f"{pairs.file}.json"))
            ]
            counts = standing(cells)
            run = "transcribed" if file.exists() else f"transcribed, not stored{hours}"
            yield Line(table, "transcribed", run, count, counts, _why(counts, kept.earlier), cost)
        if not file.exists() and kept.earlier is None:
            reason = kept.not_run or notes.not_run
            yield Line(table, "not run", f"not run{hours}", count, Standing(), reason, cost)


def _why(counts: Standing, differences: Differences) -> str:
    """The causes of the sides that have cells."""
    sides = {"Above": (counts.above, differences.above), "Below": (counts.below, differences.below)}
    sides["Without a number"] = (counts.failed, differences.failed)
    said = [f"**{side}.** {cause.words() if cause else NO_CAUSE}" for side, (cells, cause) in sides.items() if cells]
    return " ".join(said)


def _total(paper: Paper, lines: Sequence[Line]) -> list[str]:
    stored, earlier, none = ([each for each in lines if each.kind == kind] for kind in KINDS)
    seconds = [each.hours for each in none if each.hours is not None]
    unknown = len(none) - len(seconds)
    digits = ",.0f" if sum(seconds) >= 10 else ".1f"
    hours = f"{sum(seconds):{digits}}" + (f", and {unknown} without an estimate" if unknown else "")
    return [
        f"[{paper.short}](papers/{paper.name}.md)",
        str(len(paper.tables)),
        *_counted(stored),
        _weaker(stored),
        *_counted(earlier),
        str(len(none)),
        hours if none else "",
    ]


KINDS = ("stored", "transcribed", "not run")


def _counted(lines: Sequence[Line]) -> list[str]:
    counts = sum((line.counts for line in lines), Standing())
    if not lines:
        return ["0", ""]
    return [f"{len(lines)}, {counts.cells}", f"{counts.within} / {counts.above} / {counts.below}"]


def _weaker(lines: Sequence[Line]) -> str:
    counts = sum((line.counts for line in lines), Standing())
    if not counts.cells:
        return ""
    said = [f"{number} ({number / counts.cells:.0%})" for number in (counts.weaker, counts.clearly)]
    return ", clearly ".join(said)


def _hours(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:.0f} minutes"
    return "an hour" if round(hours) == 1 else f"{hours:,.0f} hours"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))
