"""The parties' tables: one table whose columns are dealt to guests, or files of their own that are aligned."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from seepage._core import InputError, Streams, unknown_name
from seepage.data.overview import Overview
from seepage.data.own_table import read_own_frame
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.data.splitting import class_order
from seepage.federation.vertical import Alignment, align, align_privately, dealt, read_keys
from seepage.results.facts import ColumnFacts, Dataset
from seepage.studies.training.settings import TrainingSettings


@dataclass(frozen=True, eq=False)
class Parties:
    """The rows of one run, cut in columns, and which of them are trained on."""

    frames: dict[str, pl.DataFrame]
    labels: np.ndarray
    train: np.ndarray
    validation: np.ndarray


@dataclass(frozen=True, eq=False)
class PartyTables:
    """All rows, cut in columns.

    Args:
        name: of the table, or of all parties.
        frames: the guests' columns, by the name of the party.
        labels: the host's.
        target: their column.
        notes: how rows were aligned.
        overview: what was made of the columns of one table.
        host: the party that has the labels; of one table that is dealt, nobody does.
    """

    name: str
    frames: Mapping[str, pl.DataFrame]
    labels: np.ndarray
    target: str
    notes: tuple[str, ...] = ()
    overview: Overview | None = None
    host: str = ""

    @cached_property
    def digest(self) -> str:
        """Equal for the same aligned rows in the same order: a file may have changed since a run began."""
        found = hashlib.blake2b(repr(self.labels.tolist()).encode(), digest_size=8)
        for name, frame in self.frames.items():
            found.update(repr([name, frame.columns]).encode())
            found.update(
                frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).hash_rows(seed=0).to_numpy().tobytes()
            )
        return found.hexdigest()

    def describe(self) -> Dataset:
        """Names and kinds of columns, with the party that has them; no values."""
        return Dataset(
            name=self.name,
            rows=len(self.labels),
            target=self.target,
            task="classification",
            columns=tuple(
                ColumnFacts(name=column, kind="numeric" if kind.is_numeric() else "categorical", dataset=party)
                for party, frame in self.frames.items()
                for column, kind in frame.schema.items()
            ),
            notes=self.notes + (self.overview.notes if self.overview else ()),
            digest=self.digest,
        )

    def drawn(self, settings: TrainingSettings, repeat: int) -> Parties:
        """The rows of one run: at most so many, with the classes in proportion, split 70/15/15."""
        generator = Streams(settings.seed).child("vertical", repeat).numpy("rows")
        rows = np.sort(class_order(self.labels, generator)[: settings.rows])
        # The order is drawn once and kept: files are sorted by date or by place, and batches of neighbours teach
        # BatchNorm the mean of a place.
        order = class_order(self.labels[rows], generator)
        first, second = round(0.7 * len(order)), round(0.85 * len(order))
        frames = {name: frame[rows] for name, frame in self.frames.items()}
        return Parties(frames, self.labels[rows], order[:first], order[first:second])


def open_tables(request: Request, settings: TrainingSettings) -> PartyTables:
    """The parties' tables; a mistake is one sentence."""
    if (request.data is None) == (not settings.tables):
        raise InputError("Give either one table to deal (--data) or the parties' own tables (--table NAME=FILE).")
    if settings.tables:
        _check_alone(request)
        return _aligned(settings, request.target)
    source = open_source(request)
    if source.table.schema.target.task == "regression":
        raise InputError(f"{source.name} has a number as its target; vertical training needs classes.")
    codes = [column.name for column in source.table.schema.columns if column.read_as == "category"]
    frame = source.table.to_frame().with_columns(
        pl.col(codes).cast(pl.Categorical)
    )  # guests read 01234 as a number else
    columns = dealt(list(source.table.schema.names), settings.parties)
    frames = {f"guest{number}": frame.select(names) for number, names in enumerate(columns, start=1)}
    return PartyTables(
        source.name, frames, source.table.target, source.table.schema.target.name, source.notes, source.overview
    )


def _check_alone(request: Request) -> None:
    """What is said about one table does not hold for several."""
    for name in ("task", "drop", "read_as", "sensitive", "group", "schema_file", "path", "fallback"):
        if getattr(request, name):
            raise InputError(
                f"The setting {name!r} is about one table (--data); the parties' own tables (--table) are read as they "
                "are."
            )


def _aligned(settings: TrainingSettings, target: str | None) -> PartyTables:
    """The parties' own files with their rows aligned; the party that has the target is the host."""
    keys = settings.keys
    if target is None or not keys:
        raise InputError("The parties' tables need --key, the column that says who a row is, and --target.")
    if target in keys:
        raise InputError(f"{target!r} is both the target and a key.")
    frames = {name: read_own_frame(Path(path), keep=(*keys, target)) for name, path in settings.tables.items()}
    host = _host(frames, keys, target)
    alignment = _alignment(settings, frames, host)
    # The common order is drawn; for the same run twice the rows go by the host's own order.
    order = np.argsort(alignment.rows[host])
    frames = {name: frame[alignment.rows[name][order]] for name, frame in frames.items()}
    labels = frames[host][target]
    if labels.null_count():
        raise InputError(f"The target {target!r} is empty in {labels.null_count()} of the aligned rows.")
    others = {name: frame.drop([*keys, target], strict=False) for name, frame in frames.items()}
    return PartyTables("-".join(frames), others, labels.to_numpy(), target, tuple(alignment.describe()), host=host)


def _alignment(settings: TrainingSettings, frames: Mapping[str, pl.DataFrame], host: str) -> Alignment:
    """The common rows, found as the settings say."""
    keys = {
        name: read_keys(name, *(frame[key] for key in settings.keys), form=settings.key_format)
        for name, frame in frames.items()
    }
    if settings.alignment == "psi":
        return align_privately(keys, host=host)
    # The salt is drawn anew: in one process nobody needs to know it, and nobody can test guesses later.
    return align(keys, salt=secrets.token_bytes(32))


def _host(frames: Mapping[str, pl.DataFrame], keys: Sequence[str], target: str) -> str:
    """The party that has the target; every party needs the keys and a column of its own."""
    for name, frame in frames.items():
        for key in keys:
            if key not in frame.columns:
                raise unknown_name(f"key of party {name!r}", key, frame.columns)
    owners = [name for name, frame in frames.items() if target in frame.columns]
    if len(owners) != 1:
        found = "at no party" if not owners else f"at {' and '.join(map(repr, owners))}"
        raise InputError(f"The target {target!r} is {found}; exactly one party, the host, must have it.")
    for name, frame in frames.items():
        if not set(frame.columns) - {*keys, target}:
            raise InputError(f"Party {name!r} has no columns beside the key and the target.")
    return owners[0]
