"""`seepage reproduce`: a paper's table, ours beside theirs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from seepage._core import InputError
from seepage.cli.console import ProgressBars, console


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(help="Which paper: tableak (000), cafe (001), profiling (002), property (003), tabvfl (004)."),
    ],
    table: Annotated[
        str | None, typer.Option("--table", help="Which of its tables or figures; its main one if none.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few minutes: far fewer trials, iterations or rows, stated below the table."),
    ] = False,
    scale: Annotated[
        float | None,
        typer.Option("--scale", help="Share of the published work, at most 1: fewer trials first, then shorter ones."),
    ] = None,
    models_per_class: Annotated[
        int | None, typer.Option("--models-per-class", help="property: instead of --scale.")
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", help="Your own copy of a data set, NAME=FILE; more than once for several."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="A part of a table, KEY=VALUE,VALUE of its plan: models=mlp,resnet. More than once."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes.")] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the lines to this JSON file.")] = None,
) -> None:
    """Run a paper's table again and lay our numbers beside the published ones.

    Runs are kept below runs/ and gone on with when the command is started again.
    """
    from seepage import reproductions  # torch takes seconds

    if sum((quick, scale is not None, models_per_class is not None)) > 1:
        raise InputError("Give one of --quick, --scale and --models-per-class.")
    if out is not None and out.exists():
        raise InputError(f"{out} is there already; it is not overwritten.")
    main = reproductions.main_table(paper)  # also tells a paper that is none
    table = main if table is None else table
    share = reproductions.QUICK[paper] if quick else (1.0 if scale is None else scale)
    if models_per_class is not None:
        share = models_per_class / reproductions.property.MODELS
    with ProgressBars() as progress:
        found = reproductions.reproduce(
            paper,
            table,
            scale=share,
            seed=seed,
            jobs=jobs,
            paths={name: Path(file) for name, file in _pairs("--path", path, "rice_msc=rice.arff").items()},
            only={key: text.split(",") for key, text in _pairs("--only", only, "models=mlp,resnet").items()},
            progress=progress,
        )
        lines = list(found)
    console.print(f"Table {table} of {reproductions.PAPERS[paper]}")
    console.print(_shown(lines))
    if out is not None:
        out.write_text(json.dumps([_written(line) for line in lines], indent=2))
        console.print(f"written to {out}")


def _pairs(option: str, given: list[str] | None, example: str) -> dict[str, str]:
    pairs = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} is {text!r}; write NAME=VALUE, for instance {example}.")
        pairs[name] = value
    return pairs


def _written(line: Any) -> dict[str, Any]:
    """A line as JSON; a cell without a number has null."""
    return asdict(line) | {"ours": None if math.isnan(line.ours) else line.ours}


def _shown(lines: list) -> Table:  # type: ignore[type-arg]
    """The lines as a table; what differs is said once below it, since most lines differ in the same."""
    sentences: dict[str, int] = {}
    shown = Table(box=box.SIMPLE, caption_justify="left", caption_style="")
    for name in ("", "", "ours", "95 %", "trials", "published", "deviations", "differs"):
        shown.add_column(name, justify="right" if name in {"ours", "published", "deviations", "trials"} else "left")
    for line in lines:
        interval = "" if line.low is None else f"{line.low:.3g} to {line.high:.3g}"
        beside = "" if line.published is None else f"{line.published:g}"
        away = "" if line.deviations is None or math.isnan(line.ours) else f"{line.deviations:+.1f}"
        ours = "-" if math.isnan(line.ours) else f"{line.ours:.4g}"
        said = [sentences.setdefault(sentence, len(sentences) + 1) for sentence in line.note.split("; ") if sentence]
        differs = " ".join(f"({number})" for number in said)
        shown.add_row(line.cell, line.metric, ours, interval, str(line.trials), beside, away, differs)
    shown.caption = "\n".join(f"({number}) {sentence}" for sentence, number in sentences.items())
    return shown
