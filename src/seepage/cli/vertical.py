"""`seepage vertical`: train over columns at several parties, and compare designs."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from seepage._core import InputError
from seepage.cli.console import ProgressBars, console

app = typer.Typer(help="Vertical learning: parties hold different columns of the same people.", no_args_is_help=True)

Data = Annotated[str | None, typer.Option("--data", help="A data set's name or a file; its columns are dealt.")]
Tables = Annotated[
    list[str] | None, typer.Option("--table", help="A party's own table, NAME=FILE; once for each party.")
]
Key = Annotated[str | None, typer.Option("--key", help="With --table: the column that says who a row is.")]
TargetName = Annotated[str | None, typer.Option("--target", help="The label; with --table exactly one party has it.")]
OwnPath = Annotated[str | None, typer.Option("--path", help="Your own copy of a named data set.")]
Guests = Annotated[int, typer.Option("--guests", help="With --data: parties among whom the columns are dealt.")]
Rows = Annotated[int, typer.Option("--rows", help="Rows at most, drawn with the classes in proportion.")]
Latent = Annotated[int, typer.Option("--latent", help="Columns of the latent vector.")]
Pretraining = Annotated[int, typer.Option("--pretraining", help="Epochs of pretraining at most.")]
Finetuning = Annotated[int, typer.Option("--finetuning", help="Epochs of fine-tuning at most.")]
BatchSize = Annotated[int, typer.Option("--batch-size", help="Rows of a mini batch.")]
Patience = Annotated[
    int, typer.Option("--patience", help="Epochs without progress before a phase stops; 0: to the end.")
]
Privacy = Annotated[bool, typer.Option("--privacy", help="Measure what host and guests read of each other.")]
Seed = Annotated[int, typer.Option("--seed", help="Of all randomness.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder; one that is there is continued.")]


@app.callback()
def vertical() -> None:
    """Vertical learning: parties hold different columns of the same people."""


@app.command("train")
def train(
    data: Data = None,
    table: Tables = None,
    key: Key = None,
    target: TargetName = None,
    path: OwnPath = None,
    guests: Guests = 5,
    design: Annotated[str, typer.Option("--design", help="Which part of TabNet is where.")] = "tabvfl",
    failure: Annotated[float, typer.Option("--failure", help="Chance that a guest is absent in an epoch.")] = 0.0,
    failure_method: Annotated[str, typer.Option("--failure-method", help="cache, zeros or hybrid.")] = "hybrid",
    rows: Rows = 50_000,
    latent: Latent = 5,
    pretraining: Pretraining = 100,
    finetuning: Finetuning = 100,
    batch_size: BatchSize = 512,
    patience: Patience = 10,
    evaluate: Annotated[bool, typer.Option(help="Judge the latent by six predictors.")] = True,
    privacy: Privacy = False,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Train one model over all parties' columns; it is saved in OUT/model, one folder for each party."""
    run_plan(
        out or Path("runs") / "vertical-train",
        jobs=1,
        data=data,
        tables=_tables(table),
        key=key,
        target=target,
        path=path,
        designs=(design,),
        guests=len(table) if table else guests,
        failure_probabilities=(failure,),
        failure_methods=(failure_method,),
        rows=rows,
        runs=1,
        latent=latent,
        pretraining=pretraining,
        finetuning=finetuning,
        batch_size=batch_size,
        patience=patience,
        evaluate=evaluate,
        privacy=privacy,
        seed=seed,
    )


@app.command("compare")
def compare(
    data: Data = None,
    table: Tables = None,
    key: Key = None,
    target: TargetName = None,
    path: OwnPath = None,
    guests: Guests = 5,
    designs: Annotated[str, typer.Option("--designs", help="By commas.")] = "central,local,local_encoders,tabvfl",
    failures: Annotated[str, typer.Option("--failures", help="Chances of absence, by commas: 0,0.2,0.35,0.5.")] = "0",
    failure_methods: Annotated[str, typer.Option("--failure-methods", help="By commas.")] = "cache,zeros",
    ablation: Annotated[bool, typer.Option("--ablation", help="Also leave out either phase.")] = False,
    runs: Annotated[int, typer.Option("--runs", help="Repeats with other splits and seeds.")] = 3,
    jobs: Annotated[int, typer.Option("--jobs", help="Training runs at once, each in a process of its own.")] = 2,
    rows: Rows = 50_000,
    latent: Latent = 5,
    pretraining: Pretraining = 100,
    finetuning: Finetuning = 100,
    batch_size: BatchSize = 512,
    patience: Patience = 10,
    privacy: Privacy = False,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Train every design several times and lay latent quality, cost and absent guests side by side."""
    run_plan(
        out or Path("runs") / "vertical-compare",
        jobs=jobs,
        data=data,
        tables=_tables(table),
        key=key,
        target=target,
        path=path,
        designs=tuple(name.strip() for name in designs.split(",")),
        guests=len(table) if table else guests,
        phases=("both", "no pretraining", "no fine-tuning") if ablation else ("both",),
        failure_probabilities=_numbers(failures),
        failure_methods=tuple(name.strip() for name in failure_methods.split(",")),
        rows=rows,
        runs=runs,
        latent=latent,
        pretraining=pretraining,
        finetuning=finetuning,
        batch_size=batch_size,
        patience=patience,
        privacy=privacy,
        seed=seed,
    )


def run_plan(out: Path, *, jobs: int, **settings: Any) -> None:
    """Run a plan, show its table, write its report."""
    from seepage.report import write_report
    from seepage.results.vertical import VerticalRun
    from seepage.studies.training.running import VerticalPlan, run_vertical  # torch takes a second to load

    plan = VerticalPlan(**settings)
    run = VerticalRun.open_or_create(out, asdict(plan))
    command = shlex.join(["seepage", *sys.argv[1:]])
    with ProgressBars() as progress:
        summary = run_vertical(plan, run, jobs=jobs, command=command, progress=progress)
    for note in summary["dataset"]["notes"]:
        typer.echo(note)
    show(summary)
    path = write_report(run.run)
    if (out / "model").exists():
        typer.echo(f"The model is in {out / 'model'}, one folder for each party.")
    typer.echo(f"The report is in {path}")


def show(summary: dict[str, Any]) -> None:
    """The numbers as a table."""
    from rich.table import Table

    from seepage.report.vertical import gather_vertical

    table = Table("setting", "runs", "F1", "F1, unseen rows", "ROC-AUC, unseen rows", "epochs", "seconds", box=None)
    for group in gather_vertical(summary).groups:
        numbers = [
            group.mean(f"quality/{variant}/mean", metric)
            for variant, metric in (("published", "f1"), ("honest", "f1"), ("honest", "roc_auc"))
        ]
        phases = ("pretraining", "fine-tuning")
        epochs = " + ".join(f"{group.mean(f'cost/{phase}', 'epochs') or 0:.0f}" for phase in phases)
        seconds = sum(group.mean(f"cost/{phase}", "seconds") or 0 for phase in phases)
        said = ["-" if number is None else f"{number:.3f}" for number in numbers]
        table.add_row(group.label, str(group.runs), *said, epochs, f"{seconds:.0f}")
    console.print(table)


def _tables(given: list[str] | None) -> tuple[tuple[str, str], ...]:
    found = []
    for each in given or []:
        name, equals, file = each.partition("=")
        if not equals or not name or not file:
            raise InputError(f"--table {each!r} is not NAME=FILE.")
        found.append((name, file))
    return tuple(found)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--failures {text!r} is not a list of numbers by commas.") from None
