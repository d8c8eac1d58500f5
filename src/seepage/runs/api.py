"""One call: a table in, a summary out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seepage._core import InputError, Progress, silent
from seepage.runs.backends import Backend
from seepage.runs.document import command_line, make_summary, versions
from seepage.runs.plan import Plan, facts, make_plan
from seepage.studies.rows.running import check_choice
from seepage.data.source import Source, open_source
from seepage.runs.sweep import run_here, run_plan
from seepage.runs.task import Memory
from seepage.report import write_report
from seepage.results import Run, Summary
from seepage.results.store import STORE_VERSION


def audit(
    data: Any,
    target: str | None = None,
    *,
    out: str | Path | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Summary:
    """Audit a table: how much of it could a server read back from federated training?

    Args:
        data: a frame (polars or pandas), a path to a CSV or Parquet file, or a data set's name.
        target: the column to predict.
        out: a folder for records, summary and report; nothing is written without it.
        progress: called with a label, the work done and the whole.
        options: what :class:`Request` says about the table (``task``, ``drop``, ``sensitive``, ``group``, ``schema``,
            ``path``) and anything of :class:`Settings` (``protocol``, ``models``, ``defenses``, ``batch_sizes``,
            ``attacks``, ``trials``, ``seed``, ...), and ``grid`` and ``cases`` as in a plan
            (:func:`read_plan`). Models, defences and attacks are names or specs such as ``"gaussian_noise:0.01"``.

    Returns:
        The summary; in a notebook it shows itself as a table.

    Example:
        >>> import seepage
        >>> from seepage.data import clinic
        >>> result = seepage.audit(
        ...     clinic(rows=400), target="died", batch_sizes=(2,), trials=2, clients=2, exposure=0,
        ...     attack_points=("initialized",), attack_options={"steps": "20"},
        ... )
        >>> result.cells[0]["trials"]
        2
    """
    plan = make_plan({"data": data, "target": target} | options)
    summary = run(plan, out=Path(out) if out else None, command=command_line(plan), progress=progress)
    if out:
        write_report(Run.open(Path(out)))
    return summary


def run(
    plan: Plan,
    *,
    out: Path | None,
    command: str,
    sources: Sequence[Source] | None = None,
    backend: Backend | None = None,
    strict: bool = True,
    progress: Progress = silent,
) -> Summary:
    """Audit what a plan says, and write the run folder if one is wanted (the report is the caller's to render).

    A folder that holds a part of the same audit already is gone on with.

    Args:
        sources: the opened tables of the variants, if the caller has opened them.
        backend: where tasks run; in this process, one after the other, if not given.
        strict: without a backend, stop before any work if a part cannot be run; else the others run and it is noted.
    """
    opened = list(sources) if sources is not None else open_sources(plan)
    if backend is None and strict:
        for task in plan.tasks:  # told before anything is written
            check_choice(opened[task.place], task.variant.settings, task.choice)
    settings = plan.variants[0].settings.model_dump(mode="json")
    head = {
        "store_version": STORE_VERSION,
        "command": command,
        "settings": settings,
        "plan": plan.fingerprint,
        "tasks": len(plan.tasks),
        "dataset": opened[0].name,
        "tables": {source.name: source.digest for source in opened},
        "versions": versions(),
    }
    folder = Run.open_or_create(out, head, same="plan") if out else None
    if folder is not None and folder.head().get("tables", head["tables"]) != head["tables"]:
        raise InputError(
            f"The output folder {out} holds a run of the same plan on other rows: a table has changed since. Choose "
            "another --out."
        )
    memory = Memory()
    if backend is None:
        documents, memory = run_here(plan, folder, opened, progress, strict=strict)
    elif folder is None:
        raise InputError("Workers need a run folder to write to: say where with --out.")
    else:
        documents = run_plan(plan, folder, backend, progress)
    summary = make_summary(
        plan,
        opened,
        documents,
        folder.records if folder else lambda cells: [r for cell in cells for r in memory.records[cell]],
        folder.revealed if folder else lambda cell: memory.revealed[cell],
        name=out.name if out else opened[0].name,
        path=str(out) if out else None,
        command=command,
    )
    if folder:
        folder.write("summary.json", summary.to_json())
    return summary


def open_sources(plan: Plan) -> list[Source]:
    """The table of every variant; each is opened once."""
    opened: dict[str, Source] = {}
    found: list[Source] = []
    named: dict[tuple[str, str], str] = {}
    for variant in plan.variants:
        table = json.dumps(facts(variant.request))
        if table not in opened:
            opened[table] = open_source(variant.request)
        found.append(opened[table])
        first = named.setdefault((variant.name, found[-1].name), table)
        if opened[first].digest != found[-1].digest:
            raise InputError(
                f"Two tables of the plan are both called {found[-1].name!r}, so their numbers could not be told apart; "
                "name the cases, or rename a file."
            )
    return found
