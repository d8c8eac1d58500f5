"""One call: a table in, a summary out."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from seepage._core import InputError, Progress, silent
from seepage._core.paths import user_path
from seepage._core.scratch import scratch_folder
from seepage.plans import registry
from seepage.plans.options import option_of
from seepage.report import notebook_view, write_report
from seepage.results import Run, Summary, Trials
from seepage.results.outline import OUTLINE
from seepage.results.showing import show_with
from seepage.results.store import STORE_VERSION, Head
from seepage.runs.backends import Backend, open_backend
from seepage.runs.bounds import check_bounds
from seepage.runs.gathering import gather, outline_of
from seepage.runs.identity import told_if_others, versions
from seepage.runs.machine import machine
from seepage.runs.notebook import progress_here
from seepage.runs.plan import OPENS, Plan, make_plan
from seepage.runs.signature import described, with_options
from seepage.runs.sweep import run_here, run_plan
from seepage.runs.task import Memory
from seepage.runs.threads import own_threads
from seepage.runs.words import command_line
from seepage.studies.study import Opened


def audit(
    data: Any = None,
    target: str | None = None,
    *,
    study: str = "rows",
    out: str | Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    yes: bool = False,
    **options: Any,
) -> Summary:
    """Audit a table: how much of it could another party read back from federated training?

    Args:
        data: a frame (polars or pandas), a path to a CSV, Excel or Parquet file, or a data set's name.
        target: the column to predict.
        study: ``rows`` (clients' updates), ``property`` (shares read from models), ``vertical`` (gradients of aligned
            batches), ``cohorts`` (sums over clients) or ``training`` (models over several parties' columns).
        out: a folder for records, summary and report; nothing is written without it. One that holds a part of the
            same run is continued.
        jobs: processes that share the tasks; objects of your own work in one only.
        progress: called with a label, the work done and the whole. Without it: bars in a notebook, nothing elsewhere.
        yes: run also what would take more than an hour, or half of the memory; else that is an error before any work.
        options: what is said about the table, any setting of the study, and ``grid`` and ``cases`` as in a plan
            (:func:`read_plan`). ``help(seepage.audit)`` lists them all. Models, defences and attacks are names, specs
            such as ``"gaussian_noise:0.01"``, or objects of your own.

    Returns:
        The summary. A notebook shows its verdict and plots; ``to_frame()``, ``cells_frame()``, ``columns_frame()`` and
        ``revealed_frame()`` give its numbers as frames.

    Example:
        >>> import seepage
        >>> from seepage.data import clinic
        >>> result = seepage.audit(
        ...     clinic(rows=400), target="died", batch_sizes=(2,), trials=2, clients=2, exposure=0,
        ...     attack_points=("initialized",), attack_options={"steps": "20"},
        ... )
        >>> result.cells[0].trials
        2
    """
    if jobs < 1:
        raise InputError(f"There are {jobs} jobs; it must be at least 1.")
    plan = make_plan({"study": study, "data": data, "target": target} | options)
    command, sources, folder = command_line(plan), open_sources(plan), user_path(out) if out else None
    check_bounds(plan, sources, folder, jobs, yes=yes)
    with ExitStack() as stack:
        told = stack.enter_context(progress_here(progress))
        if jobs == 1:
            summary = run(plan, out=folder, command=command, sources=sources, progress=told)
        else:
            # Processes meet in a folder; one that nobody asked for is gone afterwards.
            shared = folder or stack.enter_context(scratch_folder()) / "run"
            backend = stack.enter_context(open_backend("local", jobs=jobs))
            summary = run(plan, out=shared, command=command, sources=sources, backend=backend, progress=told)
            if not folder:
                summary = summary.model_copy(update={"path": None, "name": summary.dataset.name})
    if folder:
        write_report(Run.open(folder))
    return summary


audit.__signature__ = with_options(audit)  # type: ignore[attr-defined]
audit.__doc__ = described(audit.__doc__ or "")
show_with(notebook_view)


def run(
    plan: Plan,
    *,
    out: Path | None,
    command: str,
    sources: Sequence[Opened] | None = None,
    backend: Backend | None = None,
    strict: bool = True,
    progress: Progress = silent,
) -> Summary:
    """Run what a plan says, and write the run folder if one is wanted (the report is the caller's to render).

    A folder that holds a part of the same run already is continued.

    Args:
        sources: the opened tables of the variants, if the caller has opened them.
        backend: where tasks run; in this process, one after the other, if not given.
        strict: without a backend, stop before any work if a part cannot be run; else the others run and it is noted.
    """
    opened = list(sources) if sources is not None else open_sources(plan)
    if backend is not None:
        _check_portable(plan)
    if strict:
        for task in plan.tasks:  # told before anything is written
            plan.study.check(opened[task.place], task.variant.settings, task.choice)
    folder = Run.open_or_create(out, head_of(plan, opened, command, backend)) if out else None
    if folder:
        told_if_others(folder.head())
        asked = outline_of(plan, opened, _head_of(plan, opened, out, command, folder), folder.head())
        folder.write(OUTLINE, asked.model_dump_json())
    memory = Memory()
    if backend is None:
        with own_threads():
            finished, memory = run_here(plan, folder, opened, progress, strict=strict)
    elif folder is None:
        raise InputError("Workers need a run folder to write to: say where with --out.")
    else:
        finished = run_plan(plan, folder, backend, progress, rows=[source.digest for source in opened])
    head = _head_of(plan, opened, out, command, folder)
    try:
        summary = gather(
            plan,
            opened,
            finished,
            folder.trials if folder else lambda names: [Trials.of(memory.records[name]) for name in names],
            folder.revealed if folder else lambda cell: memory.revealed.get(cell, []),
            head,
        )
    except ValidationError as error:
        if folder is None:  # what this process made cannot be wrong
            raise
        raise InputError(
            f"The run folder {out} holds facts that this version does not understand ({error.errors()[0]['msg']}); "
            "repeat the run with another --out."
        ) from None
    if folder:
        folder.write("summary.json", summary.to_json())
    return summary


def _head_of(
    plan: Plan, opened: Sequence[Opened], out: Path | None, command: str, folder: Run | None
) -> dict[str, Any]:
    """What a summary says of the run itself."""
    return {
        "name": out.name if out else opened[0].name,
        "path": str(out) if out else None,
        "command": command,
        "created": str(folder.head().get("created", "")) if folder else _now(),
    }


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def head_of(plan: Plan, sources: Sequence[Opened], command: str, backend: Backend | None = None) -> Head:
    """What run.json says."""
    with own_threads():
        computing = dict(machine())
    if backend is not None:
        computing["threads"] = str(getattr(backend, "threads", "as each task says"))
    return {
        "store_version": STORE_VERSION,
        "study": plan.study.name,
        "created": _now(),
        "command": command,
        "settings": plan.variants[0].settings.model_dump(mode="json"),
        "plan": plan.fingerprint,
        "tasks": len(plan.tasks),
        "dataset": sources[0].name,
        "tables": list(dict.fromkeys(f"{source.name} {source.digest}" for source in sources)),
        "versions": dict(versions()),
        "machine": dict(computing),
    }


def _check_portable(plan: Plan) -> None:
    """Objects that were given in Python are known in this process only."""
    for variant in plan.variants:
        for name, field in type(variant.settings).model_fields.items():
            part, value = option_of(field).part, getattr(variant.settings, name)
            for spec in value if isinstance(value, tuple) else (value,):
                if part and spec and registry.is_handed(part, spec):
                    raise InputError(
                        f"The {part} {spec!r} is an object of this program, and workers are other processes; name it "
                        "by package.module:object, or run with one job."
                    )


def open_sources(plan: Plan) -> list[Opened]:
    """The table of every variant; each is opened once."""
    opened: dict[str, Opened] = {}
    found: list[Opened] = []
    named: dict[tuple[str, str, str], str] = {}
    for variant in plan.variants:
        table = json.dumps([variant.request.facts, variant.settings.model_dump(mode="json", include=set(OPENS))])
        if table not in opened:
            opened[table] = plan.study.open(variant.request, variant.settings)
        found.append(opened[table])
        # Columns dealt to other numbers of guests are other tables of one name, and their cells say the number.
        guests = variant.settings.model_dump_json(include={"guests"})
        first = named.setdefault((variant.name, found[-1].name, guests), table)
        if opened[first].digest != found[-1].digest:
            raise InputError(
                f"Two tables of the plan are both called {found[-1].name!r}, so their numbers could not be told apart; "
                "name the cases, or rename a file."
            )
    return found
