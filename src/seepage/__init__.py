"""Seepage: how much of your private table can another party read back from federated learning?

    import seepage
    summary = seepage.audit(frame, target="died")

``seepage.audit`` is a room of the house and a function: the package can be called. See :func:`seepage.audit.api.audit`.
"""

from __future__ import annotations

import importlib
import types
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "audit"]


class CallableAudit(types.ModuleType):
    """The package ``seepage.audit``, which may also be called: it audits, and writes the report into the folder."""

    def __call__(self, data: Any, target: str | None = None, **options: Any) -> Any:
        from pathlib import Path

        from seepage.audit.api import audit
        from seepage.report import write_report
        from seepage.results import Run

        summary = audit(data, target, **options)
        if summary.path:
            write_report(Run.open(Path(summary.path)))
        return summary


def __getattr__(name: str) -> Any:
    # Loaded on first use: `import seepage` must not take the seconds that torch takes.
    if name == "audit":
        return importlib.import_module("seepage.audit")
    raise AttributeError(f"module 'seepage' has no attribute {name!r}")
