"""What can be said of a claim without the truth: what it proves, how sure it is, how often such claims are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from seepage.data import Schema
from seepage.observation import Claim, Tally
from seepage.results import ALL_COLUMNS, ATTACK, BUCKETS, Kind, Measure, Record, places
from seepage.results.captured_totals import COUNT_WIDTH, SAID_ABSENT, SAID_NOTHING, SAID_PRESENT


@dataclass(frozen=True)
class Calibration:
    """How often an attack was right in a simulation.

    Args:
        columns: share of right cells by column.
        buckets: the same by kind of column and place of the doubt's bucket.
    """

    columns: dict[str, float] = field(default_factory=dict)
    buckets: dict[tuple[Kind, int], float] = field(default_factory=dict)

    @staticmethod
    def of(records: Sequence[Record], schema: Schema) -> Calibration:
        """From scored claims of a simulation; empty where none was scored."""
        scored = [record.values for record in records if record.scored]
        columns = {
            name: float(np.mean([values[key] for values in scored if key in values]))
            for name in schema.names
            if any((key := Measure(ATTACK, name, "accuracy")) in values for values in scored)
        }
        buckets: dict[tuple[Kind, int], float] = {}
        for kind, every in BUCKETS.items():
            for place, bucket in enumerate(every):
                count, share = (
                    Measure(ATTACK, bucket.scope, bucket.cells),
                    Measure(ATTACK, bucket.scope, bucket.accuracy),
                )
                cells = [(values[count], values[share]) for values in scored if count in values]
                if cells:
                    buckets[kind, place] = sum(n * right for n, right in cells) / sum(n for n, _ in cells)
        return Calibration(columns, buckets)

    def cells(self, name: str, kind: Kind, doubt: np.ndarray | None, certified: np.ndarray | None) -> np.ndarray | None:
        """(rows,) how often cells of this column and this doubt were right; certified ones are. None if unknown."""
        usual = self.columns.get(name)
        if usual is None:
            return None
        rows = len(doubt) if doubt is not None else len(certified) if certified is not None else 1
        found = np.full(rows, usual)
        if doubt is not None:
            known = ~np.isnan(doubt)
            found[known] = [self.buckets.get((kind, int(place)), usual) for place in places(kind, doubt[known])]
        if certified is not None:
            found[certified] = 1.0
        return found


def totals_measures(tally: Tally, schema: Schema) -> dict[Measure, float]:
    """How many categories of each column are said to occur, or not to; and how finely rows are counted."""
    values: dict[Measure, float] = {}
    for place, (column, states) in enumerate(zip(schema.categorical, tally.present, strict=True)):
        said = {SAID_PRESENT: states == 1, SAID_ABSENT: states == 0, SAID_NOTHING: states < 0}
        values |= {Measure(ATTACK, column.name, name): float(found.sum()) for name, found in said.items()}
        if tally.counts is not None:
            counted = tally.counts[place]
            width = (counted.high - counted.low)[states != 0]
            share = float(width.mean() / max(counted.middle.sum(), 1.0)) if len(width) else 0.0
            values[Measure(ATTACK, column.name, COUNT_WIDTH)] = share
    for name in (SAID_PRESENT, SAID_ABSENT, SAID_NOTHING):
        values[Measure(ATTACK, ALL_COLUMNS, name)] = sum(
            values[Measure(ATTACK, c.name, name)] for c in schema.categorical
        )
    return values


def untold_measures(claim: Claim, schema: Schema, calibration: Calibration) -> dict[Measure, float]:
    """The numbers of a claim nobody can check; nothing when it holds nothing."""
    if claim.tally is not None and claim.outcome.scored:
        return totals_measures(claim.tally, schema)
    if claim.rows is None or not claim.outcome.scored:
        return {}
    values = {Measure(ATTACK, ALL_COLUMNS, "claimed"): 1.0 if claim.determined is None else claim.determined.mean()}
    if claim.certified is not None:
        values[Measure(ATTACK, ALL_COLUMNS, "certified")] = float(claim.certified.mean())
    numeric, means = len(schema.numeric), []
    for place, column in enumerate((*schema.numeric, *schema.categorical)):
        kind: Kind = "numeric" if place < numeric else "categorical"
        doubt = claim.doubt[:, place] if claim.doubt is not None else None
        if doubt is not None and not np.isnan(doubt).all():
            values[Measure(ATTACK, column.name, "doubt")] = float(np.nanmean(doubt))
        expected = calibration.cells(column.name, kind, doubt, claim.certified)
        if expected is not None:
            values[Measure(ATTACK, column.name, "expected")] = float(expected.mean())
            means.append(float(expected.mean()))
    if means:
        values[Measure(ATTACK, ALL_COLUMNS, "expected")] = float(np.mean(means))
    parts: dict[str, slice] = {"doubt_num": slice(0, numeric), "doubt_cat": slice(numeric, None)}
    for name, part in parts.items():
        if claim.doubt is not None and not np.isnan(claim.doubt[:, part]).all():
            values[Measure(ATTACK, ALL_COLUMNS, name)] = float(np.nanmean(claim.doubt[:, part]))
    return {measure: float(value) for measure, value in values.items()}
