"""`seepage reproduce`: a paper's table, ours beside theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage._core.paths import user_path
from seepage.cli.declared import Typed, make_command
from seepage.plans.options import Settings, checked
from seepage.reproductions.joining import check_fits, store
from seepage.reproductions.paper import NAMES, find_paper
from seepage.reproductions.stored import stored_file

if TYPE_CHECKING:
    from seepage.reproductions import Reproduction


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
    store: Annotated[
        Path | None,
        Option(
            help="Also write the table to STORE/PAPER/TABLE.json; a part (--only) is added to what is there.",
            group=MAIN,
        ),
    ] = None
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
    from seepage.cli.console import console  # polars takes a while, and help must be there at once
    from seepage.cli.reproduced import papers_table, print_table

    asked = checked(Reproduce, typed)
    if asked.show_list or asked.paper is None:
        console.print(papers_table(asked.paper))
        return
    table = find_paper(asked.paper).table(asked.table)  # told before torch is loaded
    if asked.store is not None and asked.only:
        check_fits(stored_file(asked.store, asked.paper, table.number), _scale(asked, asked.paper), asked.seed)
    made = _run(asked, asked.paper)
    stored = None if asked.store is None else store(made.table, asked.store, part=bool(asked.only))
    if asked.as_json:
        typer.echo(made.table.model_dump_json(indent=1))
        return
    print_table(made.table)
    console.print(f"Run folders: {', '.join(str(folder) for folder in made.folders)}", soft_wrap=True, highlight=False)
    if stored is not None:
        console.print(f"Stored in {stored}", soft_wrap=True, highlight=False)


reproduce = make_command(Reproduce.model_fields, ABOUT, _reproduce)


def _scale(asked: Reproduce, paper: str) -> float:
    if asked.quick:
        return find_paper(paper).quick
    return 1.0 if asked.scale is None else asked.scale


def _run(asked: Reproduce, paper: str) -> Reproduction:
    """Run the table, with progress bars."""
    from seepage.cli.console import ProgressBars
    from seepage.reproductions import Workload
    from seepage.reproductions import reproduce as run_again

    with ProgressBars() as progress:
        work = Workload(
            scale=_scale(asked, paper),
            seed=asked.seed,
            jobs=asked.jobs,
            paths={name: Path(file) for name, file in asked.path.items()},
            only={key: text.split(",") for key, text in asked.only.items()},
            folder=user_path(asked.out),
            progress=progress,
        )
        return run_again(paper, asked.table, work)
