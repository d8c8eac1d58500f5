"""The result of an audit: what ``summary.json`` holds and the report shows.

``docs/reference/summary.md`` documents the fields; ``SCHEMA_VERSION`` rises when one changes its meaning.
"""

from __future__ import annotations

import html
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seepage._core import InputError, Outcome
from seepage.results.buckets import BUCKETS, Bucket
from seepage.results.interval import bootstrap, bootstrap_columns
from seepage.results.record import ATTACK, BASELINES, PRIOR, WHOLE, Cell, Measure, Record

SCHEMA_VERSION = 1
KINDS = {"property": "property inference", "vertical": "vertical training"}  # runs with summaries of their own
NOT_RUN = "Not run: "  # so begins the sentence of a training that gave no cell
CRASHED = "An internal error stopped it: "  # and it says this if it broke down, rather than being impossible


@dataclass(frozen=True)
class Summary:
    """An audit's numbers. ``document`` is the JSON document; the object prints as text and as a notebook table."""

    document: dict[str, Any]

    @property
    def cells(self) -> list[dict[str, Any]]:
        """One entry per (data set, protocol, model, batch size, attack point, attack, defence)."""
        cells: list[dict[str, Any]] = self.document["cells"]
        return cells

    @property
    def utility(self) -> list[dict[str, Any]]:
        """Model quality at every attack point."""
        utility: list[dict[str, Any]] = self.document["utility"]
        return utility

    @property
    def path(self) -> str | None:
        """The run folder, if one was written."""
        path: str | None = self.document.get("path")
        return path

    def to_json(self) -> str:
        return json.dumps(self.document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str, where: str = "summary.json") -> Summary:
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"{where} is not valid JSON: {error}.") from None
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind is not None:
            said = KINDS.get(str(kind), f"kind {kind!r}")
            raise InputError(f"{where} is of {said}; gate, compare and export read audits.")
        version = document.get("schema_version") if isinstance(document, dict) else None
        if version != SCHEMA_VERSION:
            raise InputError(f"{where} has schema version {version}; this Seepage reads version {SCHEMA_VERSION}.")
        if not isinstance(document.get("cells"), list):
            raise InputError(f"{where} lacks cells; run the audit again to write it anew.")
        return Summary(document)

    @property
    def headings(self) -> list[str]:
        """Those of the table: what every line says, after what tells lines of a plan apart."""
        varying = [name for name in _TOLD_APART if len({cell.get(name) for cell in self.cells}) > 1]
        return [*varying, *HEADINGS]

    def rows(self) -> list[list[str]]:
        """The table people see first: one line per cell."""
        varying = self.headings[: -len(HEADINGS)]
        return [
            [
                *(str(cell.get(name, "")) for name in varying),
                str(cell["model"]),
                str(cell["batch_size"]),
                str(cell["attack_point"]),
                str(cell["attack"]),
                show(cell["metrics"].get("accuracy")),
                show(cell["metrics"].get("emr")),
                show(best_guess(cell)[1]),
                f"{cell['rows_exact']} of {cell['rows']}" if cell["rows"] else "-",
                cell["outcome"],
            ]
            for cell in self.cells
        ]

    def __str__(self) -> str:
        lines = [self.headings, *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)) for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(text)}</th>" for text in self.headings)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in self.rows()
        )
        return f"<table><caption>Seepage audit of {html.escape(str(self.document['dataset']['name']))}</caption>" + (
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def read_kind(folder: Path, kind: str) -> dict[str, Any] | None:
    """The summary in a run folder if it is of this kind; None if it is of another, or not there."""
    file = folder / "summary.json"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:  # not JSON, or not even text
        raise InputError(f"{file} is not valid JSON: {error}.") from None
    return document if isinstance(document, dict) and document.get("kind") == kind else None


_TOLD_APART = ("dataset", "protocol", "defense", "variant")
HEADINGS = [
    "model", "batch", "point", "attack", "cells read back", "rows read exactly", "best guess", "rows", "outcome",
]  # fmt: skip


def best_guess(cell: dict[str, Any]) -> tuple[str, dict[str, float | None] | None]:
    """The baseline that gets most cells right without the update: the one an attack must beat."""
    known = {name: value for name, value in cell["baselines"].items() if value is not None}
    if not known:
        return "-", None
    name = max(known, key=lambda name: known[name]["mean"])
    return name, known[name]


def show(interval: dict[str, float | None] | None) -> str:
    """An interval for people: ``0.91 [0.88, 0.94]``."""
    if interval is None:
        return "-"
    if interval["low"] is None:
        return f"{interval['mean']:.2f}"
    return f"{interval['mean']:.2f} [{interval['low']:.2f}, {interval['high']:.2f}]"


def summarise_cells(records: Sequence[Record], columns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One JSON entry per cell, in the order in which the cells first appear."""
    groups: dict[Cell, list[Record]] = {}
    for record in records:
        groups.setdefault(record.cell, []).append(record)
    return [_cell(cell, group, columns) for cell, group in groups.items()]


class _Numbers:
    """The numbers of a cell's scored records as a table, and the intervals of all of them at once."""

    def __init__(self, records: Sequence[Record]) -> None:
        first = list(records[0].values) if records else []
        if all(list(record.values) == first for record in records):  # as nearly always
            places = {measure: place for place, measure in enumerate(first)}
            table = np.array([list(record.values.values()) for record in records], dtype=np.float64)
            table = table.reshape(len(records), len(first))
        else:
            places = {}
            for record in records:
                for measure in record.values:
                    places.setdefault(measure, len(places))
            table = np.full((len(records), len(places)), np.nan)
            for row, record in enumerate(records):
                table[row, [places[measure] for measure in record.values]] = list(record.values.values())
        self.rows = np.array([record.rows for record in records], dtype=np.float64)
        self._places, self._table = places, table
        self._intervals = bootstrap_columns(table)

    def column(self, measure: Measure) -> np.ndarray:
        """One value for each record; NaN where it was not measured."""
        place = self._places.get(measure)
        return np.full(len(self._table), np.nan) if place is None else self._table[:, place]

    def metrics(self) -> list[str]:
        """What was measured of the attack as a whole."""
        return list(dict.fromkeys(m.metric for m in self._places if m.source == ATTACK and m.scope == WHOLE))

    def has(self, measure: Measure) -> bool:
        return measure in self._places

    def interval(self, measure: Measure) -> dict[str, float | None] | None:
        place = self._places.get(measure)
        found = None if place is None else self._intervals[place]
        return found.to_dict() if found else None

    def gain(self, baseline: str, metric: str) -> dict[str, float | None] | None:
        """Attack minus baseline, paired per batch: the interval is that of the difference."""
        difference = self.column(Measure(ATTACK, WHOLE, metric)) - self.column(Measure(baseline, WHOLE, metric))
        (found,) = bootstrap_columns(difference[:, None]) if len(difference) else (None,)
        return found.to_dict() if found else None

    def over_rows(self, measure: Measure) -> float:
        """The mean over rows, or 0 where nothing was measured."""
        values = self.column(measure)
        known = ~np.isnan(values)
        return float((values * self.rows)[known].sum() / max(self.rows[known].sum(), 1))


def _cell(cell: Cell, records: Sequence[Record], columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    scored = [record for record in records if record.scored]
    numbers = _Numbers(scored)
    outcomes = Counter(record.outcome for record in records)
    rows = sum(record.rows for record in scored)
    failures = {code: count for code, count in outcomes.items() if code not in _SCORED}
    return asdict(cell) | {
        "id": cell.id,
        "trials": len(records),
        "failed": len(records) - len(scored),
        "outcome": _outcome(outcomes, failures, bool(scored)),
        "outcomes": dict(sorted(outcomes.items())),
        "seconds": round(sum(record.seconds for record in records), 3),
        "exposure": sum(record.exposure for record in records) / len(records),
        "rows": rows,
        "rows_exact": round(float((numbers.column(Measure(ATTACK, WHOLE, "emr")) * numbers.rows).sum())),
        "rows_certified": _certified(numbers),
        "rows_guessed": round(max(numbers.over_rows(Measure(name, WHOLE, "emr")) for name in BASELINES) * rows),
        "notes": list(dict.fromkeys(record.note for record in records if record.note)),
        "metrics": {name: numbers.interval(Measure(ATTACK, WHOLE, name)) for name in numbers.metrics()},
        "baselines": {name: numbers.interval(Measure(name, WHOLE, "accuracy")) for name in BASELINES},
        "gain": {name: numbers.gain(name, "accuracy") for name in BASELINES},
        "emr_baselines": {name: numbers.interval(Measure(name, WHOLE, "emr")) for name in BASELINES},
        "emr_gain": {name: numbers.gain(name, "emr") for name in BASELINES},
        "doubt": [entry for kind in BUCKETS.values() for bucket in kind if (entry := _bucket(numbers, bucket))],
        "columns": [column | _column(numbers, column["name"]) for column in columns],
    }  # fmt: skip


def _certified(numbers: _Numbers) -> int | None:
    """Rows that an attack proved; None for attacks that prove nothing."""
    measure = Measure(ATTACK, WHOLE, "certified")
    if not numbers.has(measure):
        return None
    return round(float(np.nansum(numbers.column(measure) * numbers.rows)))


def _column(numbers: _Numbers, name: str) -> dict[str, dict[str, float | None] | None]:
    return {source: numbers.interval(Measure(source, name, "accuracy")) for source in (ATTACK, *BASELINES)}


def _bucket(numbers: _Numbers, bucket: Bucket) -> dict[str, Any] | None:
    """What became of the cells of this doubt, all batches together; nothing when there are none."""
    cells = np.nan_to_num(numbers.column(Measure(ATTACK, bucket.scope, bucket.cells)))
    if not cells.sum():
        return None
    shares = {
        source: bootstrap(numbers.column(Measure(source, bucket.scope, bucket.accuracy)).tolist(), cells.tolist())
        for source in (ATTACK, PRIOR)
    }
    return {
        "kind": bucket.kind,
        "low": bucket.low if math.isfinite(bucket.low) else None,
        "high": bucket.high if math.isfinite(bucket.high) else None,
        "cells": round(float(cells.sum())),
    } | {source: share.to_dict() if share else None for source, share in shares.items()}


_SCORED = {outcome.code for outcome in Outcome if outcome.scored}


def _outcome(outcomes: Counter[str], failures: dict[str, int], any_scored: bool) -> str:
    """A cell is what most of its scored trials are; it failed only when nothing in it could be scored."""
    pool = {c: n for c, n in outcomes.items() if c in _SCORED} if any_scored else failures
    return max(sorted(pool), key=lambda code: pool[code])
