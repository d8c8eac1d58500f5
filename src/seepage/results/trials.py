"""The records of one cell as columns: what a summary is worked out from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from seepage._core import InputError
from seepage.results.cells import CELLS, Cell, coordinates
from seepage.results.interval import Interval, bootstrap_columns
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure, Record, is_share

_NAMES = ("source", "scope", "metric")
HEADS = ("repeat", "client", "round", "exposure", "rows", "outcome", "seconds", "note")


@dataclass(frozen=True, eq=False)
class Trials:
    """All trials of a cell.

    Args:
        heads: one line for each trial: ``repeat``, ``client``, ``round``, ``exposure``, ``rows``, ``outcome``,
            ``seconds``, ``note``.
        measures: the names of the numbers.
        values: (trials, measures); NaN where a trial has no such number.
        scored: (trials,) which trials gave anything to score. The others are counted, never averaged.
    """

    cell: Cell
    heads: pl.DataFrame
    measures: tuple[Measure, ...]
    values: np.ndarray
    scored: np.ndarray

    @staticmethod
    def of(records: Sequence[Record]) -> Trials:
        """The trials that these records of one cell are."""
        cells = {record.cell for record in records}
        if len(cells) != 1:
            raise ValueError(f"records of one cell are stored together; these are of {len(cells)}")
        first = tuple(records[0].values)
        if all(tuple(record.values) == first for record in records):  # as nearly always
            measures = first
            values = np.array([list(record.values.values()) for record in records], dtype=np.float64)
            values = values.reshape(len(records), len(first))
        else:
            measures = tuple(dict.fromkeys(measure for record in records for measure in record.values))
            places = {measure: place for place, measure in enumerate(measures)}
            values = np.full((len(records), len(measures)), np.nan)
            for line, record in enumerate(records):
                values[line, [places[measure] for measure in record.values]] = list(record.values.values())
        heads = pl.DataFrame({name: [getattr(record, name) for record in records] for name in HEADS})
        return Trials(cells.pop(), heads, measures, values, np.array([record.scored for record in records]))

    def to_frame(self) -> pl.DataFrame:
        """One line for each number, built by columns: a line each in Python would take longer than many attacks."""
        width = max(len(self.measures), 1)
        # A trial that was not scored is a line too, so that failures are counted.
        lines, places = np.nonzero(self.scored[:, None] | (np.arange(width) == 0))
        names = pl.DataFrame(
            {name: [getattr(m, name) for m in self.measures] or [None] for name in _NAMES},
            schema=dict.fromkeys(_NAMES, pl.String),
        )
        values = self.values if self.measures else np.full((len(self.scored), 1), np.nan)
        failed = pl.Series(~self.scored[lines])
        frame = pl.concat(
            [
                self.heads[lines],
                pl.DataFrame({"record": lines.astype(np.uint32)}),
                names[places],
                pl.DataFrame({"value": values[lines, places]}),
            ],
            how="horizontal",
        )
        if failed.any():
            frame = frame.with_columns(
                pl.when(failed).then(None).otherwise(pl.col(name)).alias(name) for name in (*_NAMES, "value")
            )
        where = {"study": self.cell.study, **coordinates(self.cell)}
        return frame.select(*(pl.lit(part).alias(name) for name, part in where.items()), pl.all())

    @staticmethod
    def from_frame(frame: pl.DataFrame) -> Trials:
        """The trials of a stored file; a sentence if nobody who writes such files wrote it."""
        check_stored(frame)
        first = frame.row(0, named=True)
        kind = CELLS[first["study"]]
        cell = kind(**{name: first[name] for name in kind.__dataclass_fields__ if name != "study"})
        number = frame["record"].to_numpy()
        begins = np.flatnonzero(np.diff(number, prepend=number[0] + 1))
        heads = frame.select(HEADS)[begins]
        told = frame["metric"].is_not_null().to_numpy()
        scored = told[begins]
        count, width = len(begins), frame.height // len(begins)
        names = frame.select(_NAMES)
        if width * count == frame.height and told.all():
            keys = names.select(pl.struct(_NAMES).hash()).to_series().to_numpy().reshape(count, width)
            if bool((keys == keys[0]).all()):  # as nearly always: every trial has the same numbers
                measures = tuple(Measure(*name) for name in names[:width].rows())
                return Trials(cell, heads, measures, frame["value"].to_numpy().reshape(count, width), scored)
        rows = names.rows()
        unique = list(dict.fromkeys(row for row in rows if row[2] is not None))
        places = {row: place for place, row in enumerate(unique)}
        values = np.full((count, len(unique)), np.nan)
        line = np.cumsum(np.diff(number, prepend=number[0]) != 0)
        known = np.flatnonzero(told)
        values[line[known], [places[rows[k]] for k in known]] = frame["value"].to_numpy()[known]
        return Trials(cell, heads, tuple(Measure(*row) for row in unique), values, scored)

    @staticmethod
    def together(parts: Iterable[Trials]) -> Trials:
        """Trials of one cell that were stored apart (the repeats of a training)."""
        every = list(parts)
        if len(every) == 1:
            return every[0]
        measures = tuple(dict.fromkeys(measure for part in every for measure in part.measures))
        places = {measure: place for place, measure in enumerate(measures)}
        blocks = []
        for part in every:
            block = np.full((len(part.values), len(measures)), np.nan)
            block[:, [places[measure] for measure in part.measures]] = part.values
            blocks.append(block)
        heads = pl.concat([part.heads for part in every], how="vertical_relaxed")
        scored = np.concatenate([part.scored for part in every])
        return Trials(every[0].cell, heads, measures, np.concatenate(blocks), scored)

    @staticmethod
    def resample(
        every: Sequence[Trials], wanted: Callable[[Measure], bool], pairs: Sequence[tuple[Measure, Measure]] = ()
    ) -> None:
        """Work out the wanted intervals of many cells, and the differences of these pairs, in few large products.

        Cell by cell they take longer: a product of small matrices is mostly the cost of calling it. Others are worked
        out when they are asked for.
        """
        alike: dict[bytes, list[tuple[Trials, list[Measure], np.ndarray]]] = {}
        for trials in every:
            measures = [measure for measure in trials.measures if wanted(measure)]
            places = [trials._places[measure] for measure in measures]
            table = np.concatenate([trials.values[trials.scored][:, places], trials._paired(pairs)], 1)
            if np.isfinite(table).all():
                alike.setdefault(trials.federations.tobytes(), []).append((trials, measures, table))
        for group in alike.values():
            whole = np.concatenate([table for _, _, table in group], 1)
            intervals = iter(bootstrap_columns(whole, group[0][0].federations))
            for trials, measures, _ in group:
                trials._intervals.update((measure, next(intervals)) for measure in measures)
                trials._differences.update((pair, next(intervals)) for pair in pairs)

    @cached_property
    def _differences(self) -> dict[tuple[Measure, Measure], Interval | None]:
        return {}

    def _paired(self, pairs: Sequence[tuple[Measure, Measure]]) -> np.ndarray:
        """(scored trials, pairs) one number minus another."""
        if not pairs:
            return np.empty((int(self.scored.sum()), 0))
        return np.stack([self.column(first) - self.column(second) for first, second in pairs], 1)

    @cached_property
    def _places(self) -> dict[Measure, int]:
        return {measure: place for place, measure in enumerate(self.measures)}

    @cached_property
    def _intervals(self) -> dict[Measure, Interval | None]:
        return {}

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows behind each scored trial."""
        rows: np.ndarray = self.heads["rows"].to_numpy()[self.scored].astype(np.float64)
        return rows

    @cached_property
    def federations(self) -> np.ndarray:
        """Of which training each scored trial is."""
        found: np.ndarray = self.heads["repeat"].to_numpy()[self.scored].astype(np.int64)
        return found

    def column(self, measure: Measure) -> np.ndarray:
        """One value for each scored trial; NaN where it was not measured."""
        place = self._places.get(measure)
        return np.full(int(self.scored.sum()), np.nan) if place is None else self.values[self.scored, place]

    def has(self, measure: Measure) -> bool:
        return measure in self._places

    def metrics(self) -> list[str]:
        """What was measured of the attack as a whole."""
        return list(dict.fromkeys(m.metric for m in self.measures if m.source == ATTACK and m.scope == ALL_COLUMNS))

    def interval(self, measure: Measure) -> Interval | None:
        if measure not in self._places:
            return None
        if measure not in self._intervals:
            found = bootstrap_columns(self.values[self.scored], self.federations)
            self._intervals.update(zip(self.measures, found, strict=True))
        return _possible(measure, self._intervals[measure])

    def differences(self, pairs: Sequence[tuple[Measure, Measure]]) -> list[Interval | None]:
        """One number minus another, paired per trial, for each of the pairs: intervals are those of the differences."""
        if any(pair not in self._differences for pair in pairs):
            self._differences.update(zip(pairs, bootstrap_columns(self._paired(pairs), self.federations), strict=True))
        return [self._differences[pair] for pair in pairs]

    def over_rows(self, measure: Measure) -> float:
        """The mean over rows, or 0 where nothing was measured."""
        values = self.column(measure)
        known = ~np.isnan(values)
        return float((values * self.rows)[known].sum() / max(self.rows[known].sum(), 1))

    @cached_property
    def outcomes(self) -> dict[str, int]:
        """How the trials ended."""
        return dict(sorted(Counter(self.heads["outcome"].to_list()).items()))


_TEXTS = ("study", "outcome", "note", *_NAMES)
_NUMBERS = ("record", "repeat", "client", "round", "exposure", "rows", "seconds", "value")


def check_stored(frame: pl.DataFrame) -> None:
    """Stop at a frame that is not one of stored trials: a column is missing, of another type, or in another order."""
    absent = [name for name in (*_TEXTS, *_NUMBERS) if name not in frame.columns]
    studies = frame["study"].unique().to_list() if "study" in frame.columns else []
    kind = CELLS.get(studies[0]) if len(studies) == 1 and isinstance(studies[0], str) else None
    if absent or kind is None or not frame.height:
        raise InputError(f"Records cannot be read: {', '.join(absent) or 'their study'} is missing in a file of them.")
    coordinates = [name for name in kind.__dataclass_fields__ if name != "study"]
    types = frame.schema
    wrong = [name for name in coordinates if name not in types or frame[name].null_count()]
    wrong += [name for name in _TEXTS if types[name] not in (pl.String, pl.Null)]
    wrong += [name for name in _NUMBERS if not types[name].is_numeric() and types[name] != pl.Null]
    wrong += [name for name in HEADS if frame[name].null_count()]
    if wrong or not types["record"].is_integer() or frame["record"].null_count() or not frame["record"].is_sorted():
        raise InputError(f"Records cannot be read: {', '.join(wrong) or 'record'} is not what a run stores.")


def _possible(measure: Measure, found: Interval | None) -> Interval | None:
    """An interval of a share stays between 0 and 1."""
    return found.within(0.0, 1.0) if found is not None and is_share(measure.metric) else found
