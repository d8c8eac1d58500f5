"""`seepage reproduce`: a paper's table, ours beside theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from seepage._core import InputError
from seepage.cli.console import ProgressBars, console
from seepage.reproductions.paper import NAMES, find_paper

if TYPE_CHECKING:
    from seepage.reproductions import Comparison, ReproducedTable

_NUMBERS = ("ours", "trials", "published", "deviations")


def reproduce(
    paper: Annotated[str | None, typer.Argument(help=f"Which paper: {', '.join(NAMES)}.")] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="Which of its tables; the one it is known for if not given.")
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the papers, or the tables of one.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few minutes: far fewer trials, steps or rows. What is less is said."),
    ] = False,
    scale: Annotated[
        float | None,
        typer.Option("--scale", help="Share of the published work, at most 1: fewer trials first, then shorter ones."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="A part of a table, KEY=VALUE,VALUE of its plan: models=mlp,resnet. More than once."
        ),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", help="Your own copy of a data set, NAME=FILE. More than once."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes.")] = 2,
    seed: Annotated[int, typer.Option("--seed", help="All randomness comes from it.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the run folders; a run that is there is continued.")
    ] = Path("runs"),
    store: Annotated[
        Path | None, typer.Option("--store", help="Also write the table to FOLDER/PAPER/TABLE.json.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, nothing else.")] = False,
) -> None:
    """Run a paper's table again, and lay our numbers beside the published ones.

    Run folders are kept, and the same command continues where it was stopped.
    """
    if show_list:
        console.print(_listed(paper))
        return
    if paper is None:
        raise InputError(f"Which paper? There are: {', '.join(NAMES)}. `seepage reproduce --list` shows their tables.")
    if quick and scale is not None:
        raise InputError("Give one of --quick and --scale.")
    known = find_paper(paper)
    known.table(table)  # told before torch is loaded
    from seepage.reproductions import Workload
    from seepage.reproductions import reproduce as run_again

    with ProgressBars() as progress:
        work = Workload(
            scale=known.quick if quick else 1.0 if scale is None else scale,
            seed=seed,
            jobs=jobs,
            paths={name: Path(file) for name, file in _pairs("--path", path, "rice_msc=rice.arff").items()},
            only={key: text.split(",") for key, text in _pairs("--only", only, "models=mlp,resnet").items()},
            folder=out,
            progress=progress,
        )
        made = run_again(paper, table, work)
    stored = made.table.store(store) if store is not None else None
    if as_json:
        typer.echo(made.table.model_dump_json(indent=1))
        return
    _print_table(made.table)
    console.print(f"Run folders: {', '.join(str(folder) for folder in made.folders)}", soft_wrap=True, highlight=False)
    if stored is not None:
        console.print(f"Stored in {stored}", soft_wrap=True, highlight=False)


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


def _pairs(option: str, given: list[str] | None, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} is {text!r}; write NAME=VALUE, for instance {example}.")
        if name in pairs:
            raise InputError(f"{option} names {name!r} twice; separate its values by commas.")
        pairs[name] = value
    return pairs


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
