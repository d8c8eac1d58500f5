"""How much of rows was read back: the numbers that the studies of rows and of vertical gradients share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from seepage._core import InputError
from seepage.results.buckets import BUCKETS, Bucket, Kind
from seepage.results.facts import ColumnFacts, Facts
from seepage.results.interval import Interval, bootstrap
from seepage.results.record import (
    ALL_COLUMNS,
    ATTACK,
    BASELINES,
    MATCHING_RULES,
    PRIOR,
    TABLEAK_RANDOM,
    Measure,
    by_rule,
)
from seepage.results.result import Result, envelope
from seepage.results.trials import Trials

Guesses = dict[str, Interval | None]
BEYOND_GUESSING = tuple(
    (Measure(ATTACK, ALL_COLUMNS, metric), Measure(name, ALL_COLUMNS, metric))
    for metric in ("accuracy", "emr")
    for name in BASELINES
)
_BY_RULE = {rule: by_rule("accuracy", rule) for rule in MATCHING_RULES}


def is_summarised(measure: Measure) -> bool:
    """Whether a summary tells this number: of baselines only what an attack is compared with."""
    return measure.source == ATTACK or measure.metric in ("accuracy", "exact", "emr", *_BY_RULE.values())


class ColumnNumbers(Facts):
    """How much of one column was read back, and what guessing gets."""

    name: str
    kind: str
    cardinality: int | None = None
    sensitive: bool = False
    attack: Interval | None = None
    prior: Interval | None = None
    uniform: Interval | None = None
    marginal: Interval | None = None

    @property
    def best_guess(self) -> Interval | None:
        """What the best way of guessing gets of this column: the one an attack must beat."""
        return max((each for each in (self.prior, self.uniform, self.marginal) if each), key=_mean, default=None)

    @property
    def gain(self) -> float | None:
        """How much more than the best guess was read; None if one of them is not known."""
        guess = self.best_guess
        return self.attack.mean - guess.mean if self.attack and guess else None


def _mean(interval: Interval) -> float:
    return interval.mean


class DoubtNumbers(Facts):
    """Cells by the attacker's own doubt: shares of all cells of the bucket, intervals over batches."""

    kind: Kind
    low: Annotated[float | None, Field(description="null: no end")]
    high: Annotated[float | None, Field(description="null: no end")]
    cells: int
    share: Annotated[Interval | None, Field(description="of all cells of this kind, how many are in the bucket")] = None
    attack: Interval | None = None
    prior: Interval | None = None


class RowNumbers(Result):
    """What was read of rows, beside guessing. ``metrics`` holds ``accuracy`` (share of cells read back),
    ``accuracy_num``, ``accuracy_cat``, ``exact`` (share of rows with every cell equal, numbers at their column's own
    resolution), ``emr`` (share of rows with every cell right, numbers within 0.319 deviations: *near*),
    ``emr_90``, ``emr_80``, ``rmse``,
    ``nearest_distance``, ``likelihood_num``, ``likelihood_cat``, ``accuracy_by_cells``,
    ``accuracy_by_l1`` and ``accuracy_by_study`` (the same rows matched by each rule, whichever was chosen; the same for
    ``accuracy_num`` and ``accuracy_cat``; in batches of up to 640 rows), ``label_accuracy`` (where labels were
    worked out), ``certified`` (share of rows that the attack proves),
    ``certified_wrong`` (how many of those are wrong, which would be a bug), ``doubt_cat`` and ``doubt_num`` (the
    attacker's own mean doubt); of vertical gradients also ``psnr`` and ``determined``."""

    exposure: Annotated[float, Field(description="mean number of times the attacked rows had been trained on")] = 0.0
    federations: Annotated[
        int,
        Field(
            description="trainings behind the scored trials, which intervals resample first; with one, they lack the "
            "variance between trainings"
        ),
    ] = 0
    rows: Annotated[int, Field(description="rows attacked")] = 0
    rows_exact: Annotated[
        int,
        Field(description="rows read back exactly: every category equal, every number at its column's own resolution"),
    ] = 0
    rows_near: Annotated[
        int, Field(description="rows read back nearly: every category equal, every number within 0.319 deviations")
    ] = 0
    rows_certified: Annotated[
        int | None, Field(description="rows the attack itself proves; null for attacks that prove nothing")
    ] = None
    rows_guessed: Annotated[int, Field(description="rows that the best guess gets exactly")] = 0
    rows_guessed_near: Annotated[int, Field(description="rows that the best guess gets nearly")] = 0
    baselines: Annotated[Guesses, Field(description="accuracy of guessing: `prior`, `uniform`, `marginal`")] = Field(
        default_factory=dict
    )
    baselines_by: Annotated[
        dict[str, Guesses],
        Field(
            description="the same by each matching rule, and `tableak_random`, TabLeak's published Random (one number "
            "a column for the whole batch)"
        ),
    ] = Field(default_factory=dict)
    gain: Annotated[Guesses, Field(description="attack minus guessing, paired per trial")] = Field(default_factory=dict)
    emr_baselines: Annotated[Guesses, Field(description="the same for rows that are near")] = Field(
        default_factory=dict
    )
    emr_gain: Guesses = Field(default_factory=dict)
    doubt: tuple[DoubtNumbers, ...] = ()
    columns: tuple[ColumnNumbers, ...] = ()

    @model_validator(mode="after")
    def _near_holds_exact(self) -> RowNumbers:
        """Summaries of earlier versions counted near rows as exact ones, and are not read as if they had not."""
        if self.rows_exact > self.rows_near:
            raise ValueError(f"{self.rows_exact} rows are exact but only {self.rows_near} near")
        return self

    @property
    def guess(self) -> float:
        best = self.best_guess[1]
        return 0.0 if best is None else best.mean

    @property
    def read_everything(self) -> bool:
        return 0 < self.rows == self.rows_exact

    @property
    def best_guess(self) -> tuple[str, Interval | None]:
        """The baseline that gets most cells right without the update: the one an attack must beat."""
        known = {name: value for name, value in self.baselines.items() if value is not None}
        if not known:
            return "-", None
        name = max(known, key=lambda name: known[name].mean)
        return name, known[name]


def row_numbers(trials: Trials, columns: Sequence[ColumnFacts]) -> dict[str, object]:
    """The fields of :class:`RowNumbers` for the trials of a cell."""
    metrics = {name: trials.interval(Measure(ATTACK, ALL_COLUMNS, name)) for name in trials.metrics()}
    gain, emr_gain = _gains(trials)
    known = [value for value in gain.values() if value is not None]
    return envelope(trials) | {
        "exposure": float(trials.heads["exposure"].mean() or 0.0),  # type: ignore[arg-type]
        "federations": len(np.unique(trials.federations)),
        "rows": int(trials.rows.sum()),
        "rows_exact": _read(trials, "exact"),
        "rows_near": _read(trials, "emr"),
        "rows_certified": _certified(trials),
        "rows_guessed": _guessed(trials, "exact"),
        "rows_guessed_near": _guessed(trials, "emr"),
        "metrics": metrics,
        "judged": {
            "exact": metrics.get("exact"),
            "emr": metrics.get("emr"),
            "gain": min(known, key=_upper, default=None),
        },
        "baselines": {name: trials.interval(Measure(name, ALL_COLUMNS, "accuracy")) for name in BASELINES},
        "baselines_by": _by_rules(trials),
        "gain": gain,
        "emr_baselines": {name: trials.interval(Measure(name, ALL_COLUMNS, "emr")) for name in BASELINES},
        "emr_gain": emr_gain,
        "doubt": tuple(entry for buckets in BUCKETS.values() for entry in _doubt(trials, buckets)),
        "columns": tuple(_column(trials, column) for column in columns),
    }


def _gains(trials: Trials) -> tuple[Guesses, Guesses]:
    """Attack minus every baseline, for cells and for whole rows."""
    found = trials.differences(BEYOND_GUESSING)
    return dict(zip(BASELINES, found[: len(BASELINES)], strict=True)), dict(
        zip(BASELINES, found[len(BASELINES) :], strict=True)
    )


def _by_rules(trials: Trials) -> dict[str, Guesses]:
    """What guessing gets by each rule of matching, as far as it was measured."""
    return {
        rule: {name: trials.interval(Measure(name, ALL_COLUMNS, metric)) for name in (*BASELINES, TABLEAK_RANDOM)}
        for rule, metric in _BY_RULE.items()
        if trials.has(Measure(PRIOR, ALL_COLUMNS, metric))
    }


def _read(trials: Trials, metric: str) -> int:
    """How many rows the attack read so."""
    if trials.has(Measure(ATTACK, ALL_COLUMNS, "emr")) and not trials.has(Measure(ATTACK, ALL_COLUMNS, metric)):
        raise InputError(
            "This run is of an earlier version, which did not tell exact rows from near ones; run it again."
        )
    return round(float(np.nansum(trials.column(Measure(ATTACK, ALL_COLUMNS, metric)) * trials.rows)))


def _guessed(trials: Trials, metric: str) -> int:
    """How many rows the best guess gets so."""
    most = max(trials.over_rows(Measure(name, ALL_COLUMNS, metric)) for name in BASELINES)
    return round(most * int(trials.rows.sum()))


def _upper(interval: Interval) -> float:
    return interval.mean if interval.high is None else interval.high


def _certified(trials: Trials) -> int | None:
    measure = Measure(ATTACK, ALL_COLUMNS, "certified")
    if not trials.has(measure):
        return None
    return round(float(np.nansum(trials.column(measure) * trials.rows)))


def _column(trials: Trials, column: ColumnFacts) -> ColumnNumbers:
    numbers = {source: trials.interval(Measure(source, column.name, "accuracy")) for source in (ATTACK, *BASELINES)}
    return ColumnNumbers(
        name=column.name, kind=column.kind, cardinality=column.cardinality, sensitive=column.sensitive, **numbers
    )


def _doubt(trials: Trials, buckets: Sequence[Bucket]) -> Iterator[DoubtNumbers]:
    """What became of the cells of each doubt, all batches together; nothing of a doubt that no cell has."""
    counts = {bucket: np.nan_to_num(trials.column(Measure(ATTACK, bucket.scope, bucket.cells))) for bucket in buckets}
    every = np.sum(list(counts.values()), axis=0)
    for bucket, cells in counts.items():
        if not cells.sum():
            continue

        def over_batches(values: np.ndarray, weights: np.ndarray) -> Interval | None:
            return bootstrap(values.tolist(), weights.tolist(), trials.federations)

        attack, prior = (
            over_batches(trials.column(Measure(source, bucket.scope, bucket.accuracy)), cells)
            for source in (ATTACK, PRIOR)
        )
        yield DoubtNumbers(
            kind=bucket.kind,
            low=bucket.low if math.isfinite(bucket.low) else None,
            high=bucket.high if math.isfinite(bucket.high) else None,
            cells=round(float(cells.sum())),
            share=over_batches(cells / np.maximum(every, 1), every),
            attack=attack,
            prior=prior,
        )
