"""Tables of the five documents, run again: ours beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from seepage._core import InputError, Progress, silent, unknown_name
from seepage.data.registry import DATASETS
from seepage.reproductions import cafe, profiling, property, tableak, tabvfl
from seepage.reproductions.effort import Effort
from seepage.reproductions.from_plan import PlanTable
from seepage.reproductions.line import Line
from seepage.reproductions.published import PAPERS, Published, find, published

TABLES: dict[str, dict[str, Callable[[Effort], Iterator[Line]]]] = {
    "tableak": tableak.TABLES,
    "cafe": cafe.TABLES,
    "profiling": profiling.TABLES,
    "property": property.TABLES,
    "tabvfl": tabvfl.TABLES,
}
# Shares of the published work that finish a paper's main table in less than ten minutes on two cores.
QUICK = {"tableak": 0.015, "cafe": 0.25, "profiling": 0.005, "property": 0.05, "tabvfl": 0.005}


def main_table(paper: str) -> str:
    """The table a paper is known for."""
    if paper not in TABLES:
        raise unknown_name("paper", paper, TABLES)
    return next(iter(TABLES[paper]))


def reproduce(
    paper: str,
    table: str,
    *,
    scale: float = 1.0,
    seed: int = 0,
    jobs: int = 2,
    paths: Mapping[str, Path] | None = None,
    only: Mapping[str, Sequence[str]] | None = None,
    progress: Progress = silent,
) -> Iterator[Line]:
    """The cells of a table as they are done.

    Args:
        paper: ``tableak``, ``cafe``, ``profiling``, ``property`` or ``tabvfl``.
        table: as the paper numbers it.
        scale: share of the published work; what is less stands in a line's note.
        jobs: processes.
        paths: the user's own copies of data sets, by name.
        only: values of the table's plan that are run, by key, such as ``models``; others are left out.
    """
    if paper not in TABLES:
        raise unknown_name("paper", paper, TABLES)
    if table not in TABLES[paper]:
        raise unknown_name(f"table of {paper}", table, TABLES[paper])
    if not 0 < scale <= 1:
        raise InputError(f"The scale is {scale}; it is a share of the published work, above 0 and at most 1.")
    for name in paths or {}:
        if name not in DATASETS:
            raise unknown_name("data set", name, DATASETS)
    run = TABLES[paper][table]
    if only and not isinstance(run, PlanTable):
        raise InputError(f"Table {table} of {paper} has no parts to choose; tables of tableak and profiling have.")
    return run(Effort(scale, seed, progress, jobs=jobs, paths=dict(paths or {}), only=dict(only or {})))


__all__ = ["PAPERS", "QUICK", "TABLES", "Effort", "Line", "Published", "find", "main_table", "published", "reproduce"]
