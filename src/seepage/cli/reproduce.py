"""`seepage reproduce`: a paper's table, ours beside theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field
from rich import box
from rich.markup import escape
from rich.table import Table

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.cli.console import ProgressBars, console
from seepage.cli.declared import Typed, make_command
from seepage.plans.options import Settings, checked
from seepage.reproductions.paper import NAMES, find_paper

if TYPE_CHECKING:
    from seepage.reproductions import Comparison, ReproducedTable, Reproduction

_NUMBERS = ("ours", "trials", "published", "deviations")


class Reproduce(Settings):
    """What is run again, and how much of it."""

    paper: Annotated[str | None, Option(help=f"Which paper: {', '.join(NAMES)}.", group=MAIN, positional=True)] = None
    table: Annotated[
        str | None, Option(help="Which of its tables; the one it is known for if not given.", group=MAIN)
    ] = None
    show_list: Annotated[bool, Option(help="List the papers, or the tables of one.", group=MAIN, flag="--list")] = False
    quick: Annotated[
        bool, Option(help="A few minutes: far fewer trials, steps or rows. What is less is said.", group=MAIN)
    ] = False
    scale: Annotated[
        float | None,
        Field(gt=0, le=1),
        Option(help="Share of the published work, at most 1: fewer trials first, then shorter ones.", group=MAIN),
    ] = None
    only: Annotated[
        dict[str, str],
        Option(
            help="A part of a table, by keys of its plan: models=mlp,resnet. More than once.",
            group=MAIN,
            flag="--only",
        ),
    ] = Field(default_factory=dict)
    path: Annotated[
        dict[str, str],
        Option(
            help="Your own copy of a data set, such as rice_msc=rice.arff. More than once.", group=MAIN, flag="--path"
        ),
    ] = Field(default_factory=dict)
    jobs: Annotated[int, Field(ge=1), Option(help="Processes.", group=MAIN)] = 2
    seed: Annotated[int, Option(help="All randomness comes from it.", group=MAIN)] = 0
    out: Annotated[Path, Option(help="Folder for the run folders; a run that is there is continued.", group=MAIN)] = (
        Path("runs")
    )
    store: Annotated[Path | None, Option(help="Also write the table to STORE/PAPER/TABLE.json.", group=MAIN)] = None
    as_json: Annotated[bool, Option(help="Print the table as JSON, nothing else.", group=MAIN, flag="--json")] = False

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        if self.paper is None and not self.show_list:
            raise InputError(
                f"Which paper? There are: {', '.join(NAMES)}. `seepage reproduce --list` shows their tables."
            )
        if self.quick and self.scale is not None:
            raise InputError("Give one of --quick and --scale.")


ABOUT = """Run a paper's table again, and lay our numbers beside the published ones.

Run folders are kept, and the same command continues where it was stopped.
"""


def _reproduce(context: typer.Context, typed: Typed) -> None:
    asked = checked(Reproduce, typed)
    if asked.show_list or asked.paper is None:
        console.print(_listed(asked.paper))
        return
    find_paper(asked.paper).table(asked.table)  # told before torch is loaded
    made = _run(asked, asked.paper)
    stored = made.table.store(asked.store) if asked.store is not None else None
    if asked.as_json:
        typer.echo(made.table.model_dump_json(indent=1))
        return
    _print_table(made.table)
    console.print(f"Run folders: {', '.join(str(folder) for folder in made.folders)}", soft_wrap=True, highlight=False)
    if stored is not None:
        console.print(f"Stored in {stored}", soft_wrap=True, highlight=False)


reproduce = make_command(Reproduce.model_fields, ABOUT, _reproduce)


def _run(asked: Reproduce, paper: str) -> Reproduction:
    """Run the table, with progress bars."""
    from seepage.reproductions import Workload
    from seepage.reproductions import reproduce as run_again

    share = 1.0 if asked.scale is None else asked.scale
    with ProgressBars() as progress:
        work = Workload(
            scale=find_paper(paper).quick if asked.quick else share,
            seed=asked.seed,
            jobs=asked.jobs,
            paths={name: Path(file) for name, file in asked.path.items()},
            only={key: text.split(",") for key, text in asked.only.items()},
            folder=asked.out,
            progress=progress,
        )
        return run_again(paper, asked.table, work)


def _listed(name: str | None) -> Table:
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


def _print_table(table: ReproducedTable) -> None:
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
