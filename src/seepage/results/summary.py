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
from typing import Any

from seepage._core import InputError, Outcome
from seepage.results.buckets import BUCKETS, Bucket
from seepage.results.interval import bootstrap
from seepage.results.record import ATTACK, BASELINES, PRIOR, WHOLE, Cell, Measure, Record

SCHEMA_VERSION = 1


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
        version = document.get("schema_version") if isinstance(document, dict) else None
        if version != SCHEMA_VERSION:
            raise InputError(f"{where} has schema version {version}; this Seepage reads version {SCHEMA_VERSION}.")
        return Summary(document)

    def rows(self) -> list[list[str]]:
        """The table people see first: one line per cell."""
        return [
            [
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
        lines = [HEADINGS, *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
        return "\n".join("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)) for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(text)}</th>" for text in HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in self.rows()
        )
        return f"<table><caption>Seepage audit of {html.escape(str(self.document['dataset']['name']))}</caption>" + (
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


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


def _cell(cell: Cell, records: Sequence[Record], columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    scored = [record for record in records if record.scored]
    outcomes = Counter(record.outcome for record in records)
    keys = (key for record in scored for key in record.values)
    metrics = dict.fromkeys(key.metric for key in keys if key.source == ATTACK and key.scope == WHOLE)
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
        "rows_exact": round(sum(r.values[Measure(ATTACK, WHOLE, "emr")] * r.rows for r in scored)),
        "rows_certified": _certified(scored),
        "rows_guessed": round(max(_mean(scored, Measure(name, WHOLE, "emr")) for name in BASELINES) * rows),
        "notes": list(dict.fromkeys(record.note for record in records if record.note)),
        "metrics": {name: _interval(scored, Measure(ATTACK, WHOLE, name)) for name in metrics},
        "baselines": {name: _interval(scored, Measure(name, WHOLE, "accuracy")) for name in BASELINES},
        "gain": {name: _gain(scored, name, "accuracy") for name in BASELINES},
        "emr_baselines": {name: _interval(scored, Measure(name, WHOLE, "emr")) for name in BASELINES},
        "emr_gain": {name: _gain(scored, name, "emr") for name in BASELINES},
        "doubt": [entry for kind in BUCKETS.values() for bucket in kind if (entry := _bucket(scored, bucket))],
        "columns": [column | _column(scored, column["name"]) for column in columns],
    }  # fmt: skip


def _certified(scored: Sequence[Record]) -> int | None:
    """Rows that an attack proved; None for attacks that prove nothing."""
    measure = Measure(ATTACK, WHOLE, "certified")
    if not any(measure in record.values for record in scored):
        return None
    return round(sum(record.values.get(measure, 0.0) * record.rows for record in scored))


def _column(scored: Sequence[Record], name: str) -> dict[str, dict[str, float | None] | None]:
    return {source: _interval(scored, Measure(source, name, "accuracy")) for source in (ATTACK, *BASELINES)}


def _bucket(scored: Sequence[Record], bucket: Bucket) -> dict[str, Any] | None:
    """What became of the cells of this doubt, all batches together; nothing when there are none."""
    cells = [record.values.get(Measure(ATTACK, bucket.scope, bucket.cells), 0.0) for record in scored]
    if not sum(cells):
        return None
    return {
        "kind": bucket.kind,
        "low": bucket.low if math.isfinite(bucket.low) else None,
        "high": bucket.high if math.isfinite(bucket.high) else None,
        "cells": round(sum(cells)),
    } | {source: _interval(scored, Measure(source, bucket.scope, bucket.accuracy), cells) for source in (ATTACK, PRIOR)}


_SCORED = {outcome.code for outcome in Outcome if outcome.scored}


def _outcome(outcomes: Counter[str], failures: dict[str, int], any_scored: bool) -> str:
    """A cell is what most of its scored trials are; it failed only when nothing in it could be scored."""
    pool = {c: n for c, n in outcomes.items() if c in _SCORED} if any_scored else failures
    return max(sorted(pool), key=lambda code: pool[code])


def _interval(
    records: Sequence[Record], measure: Measure, weights: Sequence[float] | None = None
) -> dict[str, float | None] | None:
    interval = bootstrap([record.values.get(measure, float("nan")) for record in records], weights)
    return interval.to_dict() if interval else None


def _mean(records: Sequence[Record], measure: Measure) -> float:
    """The mean over rows, or 0 where nothing was measured."""
    known = [(r.values[measure], r.rows) for r in records if measure in r.values]
    return sum(value * rows for value, rows in known) / max(sum(rows for _, rows in known), 1)


def _gain(records: Sequence[Record], baseline: str, metric: str) -> dict[str, float | None] | None:
    """Attack minus baseline, paired per batch: the interval is that of the difference."""
    ours, theirs = Measure(ATTACK, WHOLE, metric), Measure(baseline, WHOLE, metric)
    interval = bootstrap([r.values[ours] - r.values.get(theirs, float("nan")) for r in records])
    return interval.to_dict() if interval else None
