"""What `seepage reproduce` shows: the papers, and a table with the published numbers beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from seepage.cli.console import console
from seepage.reproductions.paper import NAMES, find_paper

if TYPE_CHECKING:
    from seepage.reproductions import Comparison, ReproducedTable

_NUMBERS = ("ours", "trials", "published", "deviations")


def papers_table(name: str | None) -> Table:
    """All papers, or the tables of one."""
    listed = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    if name is None:
        for heading in ("paper", "", "tables"):
            listed.add_column(heading)
        for each in NAMES:
            paper = find_paper(each)
            listed.add_row(each, paper.title, ", ".join(table.number for table in paper.tables))
        return listed
    for heading in ("table", "", "plans"):
        listed.add_column(heading)
    for table in find_paper(name).tables:
        listed.add_row(table.number, table.title, ", ".join(part.plan for part in table.plans))
    return listed


def print_table(table: ReproducedTable) -> None:
    """The table, and below it what differs: most cells differ in the same."""
    paper = find_paper(table.paper)
    common = ", ".join(f"{name} {value}" for name, value in table.common.items())
    console.print(f"Table {table.table} of {paper.title}: {table.title}", soft_wrap=True, highlight=False, markup=False)
    if common:
        console.print(f"All cells: {common}.", soft_wrap=True, highlight=False, markup=False)
    console.print(comparison_table(table))
    for sentence in table.differs:
        console.print(f"- {sentence}", soft_wrap=True, highlight=False, markup=False)
    for sentence in (sentence for run in table.runs for sentence in run.not_run):
        console.print(f"Not run: {sentence}", soft_wrap=True, highlight=False, markup=False)


def comparison_table(table: ReproducedTable) -> Table:
    """The cells of a table, one a line; a sentence about several of them is numbered and said once."""
    names = list(dict.fromkeys(name for cell in table.cells for name in cell.place))
    numbered: dict[str, int] = {}
    shown = Table(box=box.SIMPLE, caption_justify="left", caption_style="")
    for name in (*names, "", "ours", "95 %", "trials", "published", "deviations", "differs"):
        shown.add_column(name, justify="right" if name in _NUMBERS else "left")
    for cell in table.cells:
        sentences = [sentence for sentence in (cell.reason, *cell.differs) if sentence]
        marks = [f"({numbered.setdefault(sentence, len(numbered) + 1)})" for sentence in sentences]
        words = [cell.place.get(name, "") for name in names]
        shown.add_row(*map(escape, words), cell.metric, *_numbers(cell), " ".join(marks))
    shown.caption = "\n".join(f"({number}) {escape(sentence)}" for sentence, number in numbered.items())
    return shown


def _numbers(cell: Comparison) -> list[str]:
    """Ours, its interval, its trials, theirs, and the distance in their deviations."""
    interval = "" if cell.low is None or cell.high is None else f"{cell.low:.3g} to {cell.high:.3g}"
    return [
        "-" if cell.ours is None else f"{cell.ours:.4g}",
        interval,
        f"{cell.trials}" + (f", {cell.failed} failed" if cell.failed else ""),
        "" if cell.published is None else f"{cell.published:g}",
        "" if cell.deviations is None else f"{cell.deviations:+.1f}",
    ]
