"""Seepage: how much of your private table can another party read back from federated learning?

    import seepage
    summary = seepage.audit(frame, target="died")

Everything that ``dir(seepage)`` shows is public; rooms below it are documented where they are.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seepage._core.errors import InputError as InputError
    from seepage._core.errors import SeepageError as SeepageError
    from seepage.advice.api import advise as advise
    from seepage.results.summary import Summary as Summary
    from seepage.runs.api import audit as audit
    from seepage.runs.plan import read_plan as read_plan

__version__ = "0.1.0"
__all__ = ["InputError", "SeepageError", "Summary", "__version__", "advise", "audit", "read_plan"]

_ROOMS = {
    "InputError": "seepage._core.errors",
    "SeepageError": "seepage._core.errors",
    "Summary": "seepage.results.summary",
    "advise": "seepage.advice.api",
    "audit": "seepage.runs.api",
    "read_plan": "seepage.runs.plan",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: `import seepage` must not take the seconds that torch takes.
    if name in _ROOMS:
        return getattr(importlib.import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'seepage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
