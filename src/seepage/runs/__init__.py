"""Runs plans: from values to tasks, from tasks to records, from records to a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage._core.lazily import lazily

if TYPE_CHECKING:
    from seepage.runs.api import audit as audit
    from seepage.runs.api import open_sources as open_sources
    from seepage.runs.api import run as run
    from seepage.runs.plan import Plan as Plan
    from seepage.runs.plan import make_plan as make_plan
    from seepage.runs.plan import read_plan as read_plan
    from seepage.runs.plan import with_typed as with_typed
    from seepage.runs.words import command_line as command_line

__all__ = ["Plan", "audit", "command_line", "make_plan", "open_sources", "read_plan", "run", "with_typed"]

_PLACES = {"audit": "api", "open_sources": "api", "run": "api", "command_line": "words"}
__getattr__ = lazily(__name__, {name: _PLACES.get(name, "plan") for name in __all__})
