"""`seepage advise`: which settings are safe enough, and what do they cost?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from seepage._core import InputError
from seepage._core.option import MAIN, RUNNING, Option
from seepage.advice.clock import seconds_of
from seepage.advice.limits import Limits
from seepage.advice.space import read_keep
from seepage.cli.declared import Typed, make_command, split
from seepage.cli.running import BACKEND, PLAIN_TCP, SCHEDULER, run_folder, told_to_stop
from seepage.cli.tables import quiet_about_left_out
from seepage.data.request import Request, check_there
from seepage.plans.options import MOST, checked

if TYPE_CHECKING:
    from seepage.advice.advising import Advice


class Advise(BaseModel):
    """What is allowed, what stays, and how long the search may take."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    keep: Annotated[
        dict[str, str],
        Option(
            help="What must stay as it is: batch-size, defense, local-epochs (0: every gradient is sent) or width. May "
            "be repeated.",
            group=MAIN,
            flag="--keep",
        ),
    ] = Field(default_factory=dict)
    max_rows_exact: Annotated[
        float, Option(help="Largest share of rows that may be read exactly, every cell equal.", group=MAIN)
    ] = 0.0
    max_gain: Annotated[float, Option(help="Largest share of cells that may be read beyond guessing.", group=MAIN)] = (
        0.05
    )
    min_auc: Annotated[
        float | None, Option(help="Smallest ROC AUC that the model must keep (two classes).", group=MAIN)
    ] = None
    max_loss: Annotated[
        float | None,
        Option(
            help="Or: how much lower than without a defence its score may be (ROC AUC, macro F1 or R²); 0.01 if "
            "neither is given.",
            group=MAIN,
        ),
    ] = None
    budget: Annotated[str, Option(help="How long the search may take, such as 90s, 30m or 2h.", group=MAIN)] = "30m"
    out: Annotated[
        str,
        Option(
            help="Folder for the search; auto names one below runs/. A search that is there is continued.", group=MAIN
        ),
    ] = "auto"
    jobs: Annotated[
        int | None, Field(ge=1), Option(help="Processes that share the work; 1 if not given.", group=RUNNING)
    ] = None
    backend: Annotated[str | None, BACKEND] = None
    scheduler: Annotated[str | None, SCHEDULER] = None
    plain_tcp: Annotated[bool, PLAIN_TCP] = False
    clients: Annotated[
        int, Field(ge=2, le=MOST), Option(help="Clients of the federation that is simulated.", group=RUNNING)
    ] = 10
    exposure: Annotated[
        float | None,
        Field(gt=0, le=MOST),
        Option(help="Passes over the rows that models are trained for; fitted to the budget.", group=RUNNING),
    ] = None
    seed: Annotated[int, Field(ge=0), Option(help="Of everything that is drawn.", group=RUNNING)] = 0


ABOUT = """Find settings that leak little enough and cost little: batch size, defence, local epochs, width.

Federations are trained on the table with each setting and their updates attacked: quick attacks on all settings
first, stronger ones on what survives, and every attack at full length, on fresh seeds, on the one that is recommended.
A setting is dropped only where its whole interval is beyond a limit.
"""


def _advise(context: typer.Context, typed: Typed) -> None:
    own, table = split(typed, Advise)
    asked = checked(Advise, own)
    limits = Limits(
        rows_exact=asked.max_rows_exact, gain=asked.max_gain, min_auc=asked.min_auc, max_loss=asked.max_loss
    )
    seconds, keep = seconds_of(asked.budget), read_keep(asked.keep)
    if not table.get("data"):
        raise InputError("Which table? Give --data: a file, or a data set's name (see `seepage data list`).")
    check_there(table["data"])
    typer.echo(f"Reading {table['data']} ...", err=True)
    from seepage.advice.advising import Question, Workers, answered  # torch takes seconds
    from seepage.cli.console import ProgressBars, tell

    folder = run_folder(asked.out, f"{Path(str(table['data'])).stem}-advice")
    question = Question(
        table=table,
        limits=limits,
        keep=keep,
        budget=seconds,
        clients=asked.clients,
        exposure=asked.exposure,
        seed=asked.seed,
        workers=Workers(jobs=asked.jobs, backend=asked.backend, scheduler=asked.scheduler, plain_tcp=asked.plain_tcp),
        command=shlex.join(["seepage", *sys.argv[1:]]),
    )
    with told_to_stop(folder, "search.json"), quiet_about_left_out(), ProgressBars() as bars:
        advice = answered(question, folder, tell=tell, progress=bars)
    show(advice, folder)


def show(advice: Advice, folder: Path) -> None:
    """Print the answer, the frontier, and where things are."""
    from rich import box
    from rich.table import Table

    from seepage.advice.frontier_table import LEGEND
    from seepage.cli.console import console

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=not console.is_terminal)

    for line in advice.answer:
        say(line)
    say(f"\nLeakage against utility, means with 95 % intervals; the best first. {LEGEND}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in advice.headings:
        table.add_column(heading, overflow="fold")
    for row in advice.rows:
        table.add_row(*row)
    console.print(table)
    for remark in advice.limits:
        say(remark.text)
    if advice.chosen is not None:
        say(f"\nTo set {advice.chosen.name}:")
    for name, text in advice.frameworks.items():
        say(f"\n{name}:\n{text}")
    say("")
    for word, path in {"Report": "report.html", "Answer": "advice.txt", "Plan": "plan.toml"}.items():
        if (folder / path).exists():
            say(f"{word:<8} {folder / path}")
    if (folder / "plan.toml").exists():
        say(f"Repeat   seepage audit --plan {folder / 'plan.toml'}")


_FIRST = ("data", "target")
advise = make_command(
    {name: Request.model_fields[name] for name in _FIRST} | Advise.model_fields | Request.model_fields, ABOUT, _advise
)
