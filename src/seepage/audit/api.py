"""One call: a table in, a summary out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seepage._core import Progress, silent
from seepage.audit.document import command_line, make_summary, versions
from seepage.audit.plan import prepare
from seepage.audit.runner import check_audit, run_audit
from seepage.audit.settings import Settings
from seepage.audit.source import Source, open_source
from seepage.results import SCHEMA_VERSION, Run, Summary


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
        out: a folder for records and summary; nothing is written without it.
        progress: called with a label, the work done and the whole.
        options: what :class:`Request` says about the table (``task``, ``drop``, ``sensitive``, ``group``, ``schema``,
            ``path``) and anything of :class:`Settings` (``protocol``, ``models``, ``defenses``, ``batch_sizes``,
            ``attacks``, ``trials``, ``seed``, ...). Models, defences and attacks are names or specs such as
            ``"gaussian_noise:0.01"``.

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
    request, settings = prepare({"data": data, "target": target} | options)
    command = command_line(request, settings)
    return run(open_source(request), settings, out=Path(out) if out else None, command=command, progress=progress)


def run(source: Source, settings: Settings, *, out: Path | None, command: str, progress: Progress = silent) -> Summary:
    """Audit an opened table, and write the run folder if one is wanted (the report is the caller's to render)."""
    check_audit(source, settings)
    head = {
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "settings": settings.model_dump(mode="json"),
    }
    folder = Run.create(out, head | {"dataset": source.name, "versions": versions()}) if out else None
    findings = run_audit(source, settings, run=folder, progress=progress)
    name = out.name if out else source.name
    summary = make_summary(source, settings, findings, name=name, path=str(out) if out else None, command=command)
    if folder:
        folder.write("summary.json", summary.to_json())
    return summary
