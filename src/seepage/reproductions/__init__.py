"""Tables of the papers, run again: plans and stored results, no drivers.

A table is a plan of one of the studies (``plans/<paper>/``) and a few lines about it (``papers/<paper>.toml``); the
published numbers are in ``published/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage._core.lazily import lazily
from seepage.reproductions.paper import NAMES, Paper, PaperTable, find_paper

if TYPE_CHECKING:
    from seepage.reproductions.running import Reproduction as Reproduction
    from seepage.reproductions.running import Workload as Workload
    from seepage.reproductions.running import reproduce as reproduce
    from seepage.reproductions.stored import Comparison as Comparison
    from seepage.reproductions.stored import ReproducedTable as ReproducedTable
    from seepage.reproductions.stored import read_table as read_table

__all__ = [
    "NAMES",
    "Comparison",
    "Paper",
    "PaperTable",
    "ReproducedTable",
    "Reproduction",
    "Workload",
    "find_paper",
    "read_table",
    "reproduce",
]

_PLACES = {"Reproduction": "running", "Workload": "running", "reproduce": "running"}
_PLACES |= {"Comparison": "stored", "ReproducedTable": "stored", "read_table": "stored"}
__getattr__ = lazily(__name__, _PLACES)
