"""`seepage dp`: what configured privacy is worth (`check`), and what canaries measure of it (`audit`)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from seepage._core import InputError, Streams
from seepage._core.option import MAIN, Option
from seepage.cli.declared import Typed, make_command, split
from seepage.cli.grouped import GroupedCommand
from seepage.data.request import Request, check_there
from seepage.dp.known import SETTABLE, Known
from seepage.plans.options import MOST, Settings, checked

if TYPE_CHECKING:
    from torch import Tensor

    from seepage.dp.findings import Verdict
    from seepage.dp.measuring import Measured
    from seepage.models import Learner

app = typer.Typer(no_args_is_help=True, help="What differential privacy that somebody configured is worth.")

TRAINING = "How it is trained"


class Asked(Settings):
    """What is checked, and how it is told."""

    files: Annotated[
        tuple[Path, ...],
        Option(
            help="Python source (Opacus, Flower, NVFlare), NVFlare's JSON, Flower's pyproject.toml, or TOML with a "
            "section [dp]. They are read, never run.",
            positional=True,
        ),
    ] = ()
    settings: Annotated[dict[str, str], Field(default_factory=dict), SETTABLE]
    measure: Annotated[
        bool, Option(help="Also run each mechanism, and bound epsilon from below by what can be told.", group=MAIN)
    ] = False
    prior: Annotated[
        float,
        Field(gt=0, lt=1),
        Option(help="Chance of guessing a row exactly, for what epsilon leaves of reading it.", group=MAIN),
    ] = 0.001
    as_json: Annotated[bool, Option(help="Print JSON.", group=MAIN, flag="--json")] = False


ABOUT = """Recompute the epsilon of configured privacy, and say what is wrong with it.

Files of one federation are read together and never run. Exits with 1 if a promise does not hold, or could not be
recomputed.
"""


def _check(context: typer.Context, typed: Typed) -> None:
    from seepage.dp.checking import check_files

    own, rest = split(typed, Asked)
    asked, known = checked(Asked, own), checked(Known, rest)
    verdicts = check_files(asked.files, known, asked.settings)
    measured = [_measured(verdict) if asked.measure else None for verdict in verdicts]
    if asked.as_json:
        from seepage.cli.dp_shown import as_json

        document = [as_json(each, seen, asked.prior) for each, seen in zip(verdicts, measured, strict=True)]
        typer.echo(json.dumps(document, indent=2))
    else:
        from seepage.cli.dp_shown import print_verdict, totals

        for verdict, seen in zip(verdicts, measured, strict=True):
            print_verdict(verdict, seen, asked.prior, asked=asked.measure)
        typer.echo(totals(verdicts))
    if not all(verdict.holds for verdict in verdicts):
        raise typer.Exit(1)


def _measured(verdict: Verdict) -> Measured | None:
    from seepage.dp.measuring import measure

    if verdict.mechanism is None or verdict.delta is None:
        return None
    return measure(verdict.mechanism, verdict.delta, Streams(0).numpy("measure", verdict.place))


class Run(Settings):
    """One private training with canaries."""

    model: Annotated[str, Option(help="The model (see `seepage models list`).", group=MAIN, part="model")] = "linear"
    noise: Annotated[float, Field(ge=0, le=MOST), Option(help="Noise multiplier.", group=MAIN)] = 1.0
    clip: Annotated[float, Field(gt=0, le=MOST), Option(help="Largest norm of a row's gradient.", group=MAIN)] = 1.0
    delta: Annotated[float, Field(gt=0, lt=1), Option(help="Delta of the promise.", group=MAIN)] = 1e-5
    rows: Annotated[
        int, Field(ge=2, le=4000), Option(help="Rows of the client, drawn from the table.", group=TRAINING)
    ] = 600
    batch_size: Annotated[
        int, Field(ge=1, le=MOST), Option(help="Expected rows of a batch; Poisson.", group=TRAINING)
    ] = 100
    epochs: Annotated[
        int, Field(ge=1, le=MOST), Option(help="Passes over the rows, all rounds together.", group=TRAINING)
    ] = 5
    learning_rate: Annotated[float, Field(gt=0, le=MOST), Option(help="Of plain SGD.", group=TRAINING)] = 0.1
    canaries: Annotated[
        int, Field(ge=1, le=4000), Option(help="Rows with a wrong target, in or out by a coin.", group=MAIN)
    ] = 300
    lowered: Annotated[
        float,
        Field(gt=0),
        Option(
            help="Divide the noise that is really added by this: what a broken mechanism looks like.", group=TRAINING
        ),
    ] = 1.0
    claims: Annotated[float | None, Field(gt=0), Option(help="The epsilon that is claimed.", group=MAIN)] = None
    seed: Annotated[int, Option(help="Of all random numbers.", group=TRAINING)] = 0
    as_json: Annotated[bool, Option(help="Print JSON.", group=MAIN, flag="--json")] = False


ABOUT_RUN = """Train once with DP-SGD and canary rows, and bound epsilon from below by who can be told.

The server sees every noisy gradient. Exits with 1 if more is told than was claimed.
"""


def _audit(context: typer.Context, typed: Typed) -> None:
    own, rest = split(typed, Run)
    asked = checked(Run, own)
    if rest.get("data") is None:
        raise InputError("Which table? Give --data with a data set's name or a file.")
    check_there(rest["data"])
    from dataclasses import asdict

    from seepage.cli.console import ProgressBars
    from seepage.cli.dp_shown import print_audited
    from seepage.dp.canaries import Training, audit_rows

    learner, x, y, streams = _client(asked, rest)
    training = Training(
        clip=asked.clip,
        noise=asked.noise,
        batch_size=asked.batch_size,
        epochs=asked.epochs,
        learning_rate=asked.learning_rate,
        lowered=asked.lowered,
    )
    with ProgressBars() as bars:
        found = audit_rows(
            learner,
            x,
            y,
            training,
            streams,
            canaries=asked.canaries,
            delta=asked.delta,
            progress=lambda done, total: bars("noisy gradients", done, total),
        )
    if asked.as_json:
        upper = found.upper if math.isfinite(found.upper) else "unbounded"
        typer.echo(json.dumps(asdict(found) | {"upper": upper, "claimed": asked.claims}, indent=2))
    else:
        print_audited(found, asked.claims)
    if found.lower > (asked.claims if asked.claims is not None else found.upper):
        raise typer.Exit(1)


def _client(asked: Run, table: Typed) -> tuple[Learner, Tensor, Tensor, Streams]:
    """The model, the encoded rows of one client, and random numbers."""
    import torch  # takes seconds to load, and help must be there at once

    from seepage.cli.tables import quiet_about_left_out
    from seepage.data import Encoder
    from seepage.data.source import open_source
    from seepage.models import make_learner
    from seepage.plans import registry

    with quiet_about_left_out():
        source = open_source(checked(Request, table))
    architecture = registry.make("model", asked.model, "rows")
    streams = Streams(asked.seed)
    encoder = Encoder(schema=source.table.schema, categories=architecture.encoding)
    chosen = streams.numpy("rows").permutation(len(source.table))[: asked.rows]
    rows = source.table.take(chosen)
    schema = rows.schema
    learner = make_learner(
        architecture,
        encoder.layout.numeric,
        encoder.layout.sizes,
        schema.target.task,
        len(schema.target.classes),
        seed=streams.integer("model"),
    )
    target = torch.from_numpy(rows.target)
    if schema.target.task == "regression":
        target = ((target - target.mean()) / (target.std() or 1.0)).float()
    return learner, torch.from_numpy(encoder.encode(rows, encoder.statistics(rows))), target, streams


check = make_command(Asked.model_fields | Known.model_fields, ABOUT, _check)
audit = make_command(
    {name: Request.model_fields[name] for name in ("data", "target", "task", "drop")} | Run.model_fields,
    ABOUT_RUN,
    _audit,
)
app.command("check", cls=GroupedCommand)(check)
app.command("audit", cls=GroupedCommand)(audit)
