"""Tables of the five documents, run again: ours beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from seepage._core import InputError, Progress, silent, unknown_name
from seepage.audit.reproductions import cafe, property
from seepage.audit.reproductions.effort import Effort
from seepage.audit.reproductions.line import Line
from seepage.audit.reproductions.published import PAPERS, Published, find, published

TABLES: dict[str, dict[str, Callable[[Effort], Iterator[Line]]]] = {
    "cafe": cafe.TABLES,
    "property": property.TABLES,
}
QUICK = 0.02  # share of the published work


def main_table(paper: str) -> str:
    """The table a paper is known for."""
    if paper not in TABLES:
        raise unknown_name("paper", paper, TABLES)
    return next(iter(TABLES[paper]))


def reproduce(
    paper: str, table: str, *, scale: float = 1.0, seed: int = 0, progress: Progress = silent
) -> Iterator[Line]:
    """The cells of a table as they are done.

    Args:
        paper: ``cafe`` or ``property``.
        table: as the paper numbers it.
        scale: share of the published work; what is less stands in a line's note.
    """
    if paper not in TABLES:
        raise unknown_name("paper", paper, TABLES)
    if table not in TABLES[paper]:
        raise unknown_name(f"table of {paper}", table, TABLES[paper])
    if not 0 < scale <= 1:
        raise InputError(f"The scale is {scale}; it is a share of the published work, above 0 and at most 1.")
    return TABLES[paper][table](Effort(scale, seed, progress))


__all__ = ["PAPERS", "QUICK", "TABLES", "Effort", "Line", "Published", "find", "main_table", "published", "reproduce"]
