"""What is attacked: a capture, its columns, and the rows behind it where somebody tells them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from seepage import captures
from seepage._core import InputError, unknown_name
from seepage.captures import Capture, CaptureFacts, Entry
from seepage.data import Preprocessing, Schema, Table
from seepage.data.overview import Overview
from seepage.data.prepared import as_preprocessing, prepared_schema
from seepage.data.request import Request
from seepage.data.source import open_source, table_under
from seepage.results.facts import Dataset
from seepage.studies.updates.settings import UpdatesSettings


@dataclass(frozen=True, kw_only=True)
class Case:
    """Updates of one client by one set of rules: they are attacked together.

    Args:
        entries: the updates.
        earlier: those of the same client and rules in rounds before, which are cases of their own.
    """

    client: str
    protocol: str
    facts: CaptureFacts
    entries: tuple[Entry, ...]
    earlier: tuple[Entry, ...] = ()

    @property
    def rounds(self) -> str:
        """Their numbers in words: ``1-3, 7``."""
        numbers = [entry.round for entry in self.entries]
        begins = [n for n in numbers if n - 1 not in numbers]
        ends = [n for n in numbers if n + 1 not in numbers]
        return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(begins, ends, strict=True))

    @property
    def batch_size(self) -> int:
        """Rows of a local step; all rows where that is not known."""
        return self.facts.batch_size or self.facts.rows


@dataclass(frozen=True, kw_only=True)
class CapturedUpdates:
    """A capture with its columns.

    Args:
        name: of the capture's folder.
        entries: the updates that are attacked.
        table: rows of the public table; none, under the schema, where only that is given.
        truth: the rows behind the updates; None if nobody tells them.
        client_rows: all rows of the client that audits itself.
        facts: columns for a report.
        preprocessing: what all clients do to their columns, if that was given.
        each_round: whether every round of a client is a case of its own.
    """

    name: str
    capture: Capture
    entries: tuple[Entry, ...]
    table: Table
    truth: Table | None
    client_rows: Table | None
    facts: Dataset | None
    notes: tuple[str, ...] = ()
    overview: Overview | None = None
    preprocessing: Preprocessing | None = None
    each_round: bool = False

    @cached_property
    def digest(self) -> str:
        """Equal for equal updates, columns and rows."""
        found = hashlib.blake2b(repr(self.table.schema).encode(), digest_size=8)
        for entry in self.entries:
            found.update(entry.digest.encode())
        for table in (self.table, self.truth, self.client_rows):
            for part in (table.numbers, table.codes, table.target) if table is not None else ():
                found.update(np.ascontiguousarray(part).tobytes())
        if self.preprocessing is not None:
            found.update(self.preprocessing.to_toml().encode())
        return found.hexdigest()

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Client by client; one that changed its rules has several."""
        groups: dict[tuple[str, str, str], list[Entry]] = {}
        for entry in self.entries:
            groups.setdefault((entry.client, entry.protocol, entry.facts.model_dump_json()), []).append(entry)
        cases = tuple(
            Case(client=client, protocol=protocol, facts=entries[0].facts, entries=tuple(entries))
            for (client, protocol, _), entries in groups.items()
        )
        return tuple(part for case in cases for part in _apart(case)) if self.each_round else cases

    def cases_of(self, number: int | None) -> tuple[Case, ...]:
        """The cases of one round, if they are told apart by rounds; all of them if no round is named."""
        return tuple(case for case in self.cases if number is None or case.entries[0].round == number)

    def describe(self) -> Dataset:
        """What a report says of it: names, kinds and sizes, no values."""
        assert self.facts is not None
        rows = sum(case.facts.rows for case in self.cases)
        return self.facts.model_copy(update={"name": self.name, "rows": rows, "digest": self.digest})


def _apart(case: Case) -> list[Case]:
    """The rounds of a case, each by itself."""
    every = case.entries
    return [replace(case, entries=(entry,), earlier=every[:place]) for place, entry in enumerate(every)]


def open_capture(request: Request, settings: UpdatesSettings) -> CapturedUpdates:
    """Open a capture, its columns and its truth; a mistake is one sentence."""
    capture = captures.read(settings.capture)
    if request.data is not None:
        public = open_source(request)
        table, described, name, shared = public.table, public.describe(), public.name, public.preprocessing
    elif request.schema_file is not None:
        schema, shared = Schema.read(request.schema_file), as_preprocessing(request.preprocessing)
        schema = schema if shared is None else prepared_schema(schema, shared)
        schema = schema.with_sensitive(request.sensitive)
        table, name = no_rows(schema), ""
        described = describe_schema(schema)
    else:
        raise InputError(
            "Which columns does the model have? Give a schema file (--schema, see `seepage data schema`), or a table "
            "with the same columns (--data)."
        )
    if settings.statistics == "table" and not len(table):
        raise InputError("The statistics of the table are to be used, but there is only a schema; give it with --data.")
    entries = _chosen(capture, settings)
    truth, everything = _truth(settings, table.schema, entries, shared)
    notes = (f"Columns as in the table {name}.",) if name else ("Columns as in the schema file.",)
    return CapturedUpdates(
        name=Path(settings.capture).resolve().name,
        capture=capture,
        entries=entries,
        table=table,
        truth=truth,
        client_rows=everything,
        facts=described.model_copy(update={"notes": (*described.notes, *notes)}),
        preprocessing=shared,
        each_round=settings.each_round,
    )


def describe_schema(schema: Schema) -> Dataset:
    """Columns for a report, where there is no row."""
    from seepage.data.source import Source

    return Source(name="", table=no_rows(schema)).describe()


def no_rows(schema: Schema) -> Table:
    """A table of these columns without a row."""
    kind = np.int64 if schema.target.classes else np.float64
    none = np.zeros((0, len(schema.categorical)), dtype=np.int64)
    return Table(schema, np.zeros((0, len(schema.numeric))), none, np.zeros(0, dtype=kind))


def _chosen(capture: Capture, settings: UpdatesSettings) -> tuple[Entry, ...]:
    """The updates that are to be attacked."""
    if settings.client is not None and settings.client not in capture.clients:
        raise unknown_name("client of the capture", settings.client, capture.clients)
    own = [entry for entry in capture.entries if settings.client in (None, entry.client)]
    known = {entry.round for entry in own}
    for number in settings.rounds:
        if number not in known:
            raise InputError(f"The capture holds no round {number}; it holds {', '.join(map(str, sorted(known)))}.")
    return tuple(entry for entry in own if not settings.rounds or entry.round in settings.rounds)


def _truth(
    settings: UpdatesSettings, schema: Schema, entries: tuple[Entry, ...], shared: Preprocessing | None
) -> tuple[Table | None, Table | None]:
    """The rows behind the updates, and all rows of their client."""
    if settings.truth is None:
        return None, None
    clients = list(dict.fromkeys(entry.client for entry in entries))
    if len(clients) > 1:
        raise InputError(f"The truth is of one client, and these are updates of {len(clients)}; choose one (--client).")
    truth = table_under(settings.truth, schema, shared)
    for entry in entries:
        if entry.facts.rows != len(truth):
            raise InputError(
                f"The truth has {len(truth)} rows with a target, but {entry.facts.rows} are behind the update of round "
                f"{entry.round}; give the rows behind it, or choose rounds (--rounds)."
            )
    whole = truth if settings.client_rows is None else table_under(settings.client_rows, schema, shared)
    return truth, whole
