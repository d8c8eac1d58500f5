"""What a named data set is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from seepage.data import readers
from seepage.data.fetch import Member
from seepage.data.openml import OpenML
from seepage.data.schema import Kind, LearningTask


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A named data set: what it is, where it comes from, and how it is read.

    Args:
        name, title: the short name and the one people know.
        target, task: what is predicted.
        rows, columns: of the frame that :func:`open_dataset` returns (0: depends on your copy).
        origin, terms: who made the data, and under which terms.
        package_licence: licence of the package that carries a copy.
        read: from the fetched files (or the user's own one) to a frame.
        prepare: what is done to the frame, whichever source it came from.
        mirror, openml: where it can be fetched.
        make: data sets that are made here and need no source.
        drop: columns that are not used, and why.
        kinds: columns whose kind cannot be guessed, or a function that names them.
        categories: categories that exist but do not occur in the rows.
        group: column whose rows belong to one person; splits must not cut it.
    """

    name: str
    title: str
    target: str
    task: LearningTask
    rows: int
    columns: int
    origin: str
    terms: str
    package_licence: str = "-"
    read: readers.Reader = readers.one_table
    prepare: Callable[[pl.DataFrame], pl.DataFrame] = field(default=lambda frame: frame)
    mirror: tuple[Member, ...] = ()
    openml: OpenML | None = None
    make: Callable[[], pl.DataFrame] | None = None
    drop: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Kind] | Callable[[pl.DataFrame], Mapping[str, Kind]] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: str | None = None

    @property
    def source(self) -> str:
        """Where it comes from, in a few words."""
        if self.make is not None:
            return "made by Seepage"
        ways = [*(["mirror"] if self.mirror else []), *(["openml"] if self.openml else [])]
        return ", ".join(ways) or "your own copy"

    @property
    def is_cached(self) -> bool:
        """Whether it can be opened without network (its files are checked again when they are opened)."""
        return self.make is not None or (bool(self.mirror) and all(m.cached_at.is_file() for m in self.mirror))
