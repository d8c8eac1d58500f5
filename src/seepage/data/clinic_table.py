"""Clinic: a synthetic table of hospital admissions, for tests, examples and first steps without network.

It has what makes clinical tables hard to protect and hard to judge: sparse history flags that a prior guesses
well, skewed laboratory values with empty cells, rare categories, and few positives. No person is behind any
row.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from seepage._core import InputError, Streams

HISTORY: Mapping[str, tuple[float, float]] = {  # flag -> (share at age 60, weight in the rule)
    "history_hypertension": (0.13, 0.0),
    "history_diabetes": (0.12, 0.2),
    "history_heart_failure": (0.07, 0.7),
    "history_atrial_fibrillation": (0.08, 0.3),
    "history_copd": (0.06, 0.5),
    "history_kidney_disease": (0.07, 0.5),
    "history_stroke": (0.035, 0.6),
    "history_cancer": (0.05, 0.8),
    "history_metastasis": (0.015, 1.5),
    "history_liver_disease": (0.02, 0.9),
    "history_dementia": (0.025, 0.8),
    "history_transplant": (0.006, 0.6),
}

_CATEGORIES: Mapping[str, str] = {  # values and their shares
    "sex": "female 0.52 male 0.48",
    "admission_type": "emergency 0.55 observation 0.2 elective 0.15 surgical 0.097 transfer 0.003",
    "insurance": "public 0.55 private 0.33 other 0.09 none 0.03",
    "language": "English 0.87 Spanish 0.06 Portuguese 0.03 Chinese 0.02 Russian 0.017 Haitian 0.003",
    "marital_status": "married 0.46 single 0.36 widowed 0.11 divorced 0.07",
    "ward": "medicine 0.42 surgery 0.2 cardiology 0.14 neurology 0.1 oncology 0.08 intensive 0.06",
}

_WARD_RISK = {
    "medicine": 0.0,
    "surgery": -0.4,
    "cardiology": 0.1,
    "neurology": 0.2,
    "oncology": 0.7,
    "intensive": 1.6,
}
_TYPE_RISK = {"emergency": 0.5, "observation": -0.6, "elective": -1.2, "surgical": -0.5, "transfer": 0.9}

POSITIVE = 0.025  # expected share of deaths


def clinic(rows: int = 5000, seed: int = 0) -> pl.DataFrame:
    """An admissions table of 27 input columns and the target ``died``; the same arguments give the same
    table.

    The chance of death is ``1 / (1 + exp(-(a + risk)))``, where ``risk`` is the known sum of :func:`risk` and
    ``a`` is set so that the expected share of deaths is 2.5 %.

    Args:
        rows: how many admissions; at least 100, so that there are a few deaths.
        seed: of the table.

    Example:
        >>> clinic(200, seed=1).shape
        (200, 28)
    """
    if rows < 100:
        raise InputError(f"A clinic table of {rows} rows has no deaths to learn from; ask for at least 100.")
    streams = Streams(seed).child("clinic")
    columns = _people(rows, streams) | _values(rows, streams)
    columns |= _history(columns["age"], streams)
    score = risk(columns)
    chance = 1 / (1 + np.exp(-(score + _intercept(score))))
    died = _stratified_draw(chance, streams)
    empty = _empty_cells(rows, streams)
    frame = pl.DataFrame(columns | {"died": died})
    return frame.with_columns(
        pl.when(pl.Series(gone)).then(None).otherwise(pl.col(name)).alias(name) for name, gone in empty.items()
    )


def risk(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """The rule: log-odds of death up to a constant, from the columns before cells were emptied."""
    score = 0.045 * (columns["age"] - 60.0)
    score = score + np.vectorize(_WARD_RISK.__getitem__)(columns["ward"])
    score = score + np.vectorize(_TYPE_RISK.__getitem__)(columns["admission_type"])
    score = score + 1.1 * np.log(columns["lactate"] / 1.4) + 0.6 * np.log(columns["creatinine"])
    score = score + 0.05 * (columns["heart_rate"] - 82) - 0.03 * (columns["systolic_pressure"] - 128)
    for name, (_, weight) in HISTORY.items():
        score = score + weight * columns[name]
    return np.asarray(score, dtype=np.float64)


def _people(rows: int, streams: Streams) -> dict[str, np.ndarray]:
    generator = streams.numpy("people")
    age = np.clip(np.round(18 + 74 * generator.beta(2.6, 1.9, rows)), 18, 91).astype(np.int64)
    columns: dict[str, np.ndarray] = {"age": age}
    for name, shares in _CATEGORIES.items():
        words = shares.split()
        columns[name] = generator.choice(words[::2], size=rows, p=[float(share) for share in words[1::2]])
    columns["previous_admissions"] = np.minimum(generator.negative_binomial(0.6, 0.35, rows), 40)
    return columns


def _values(rows: int, streams: Streams) -> dict[str, np.ndarray]:
    """Skewed numbers, in the usual units and precision."""
    generator = streams.numpy("values")
    return {
        "hours_in_emergency": np.round(generator.gamma(1.5, 3.0, rows), 1),
        "heart_rate": np.clip(np.round(generator.normal(82, 16, rows)), 30, 200).astype(np.int64),
        "systolic_pressure": np.clip(np.round(generator.normal(128, 22, rows)), 55, 240).astype(np.int64),
        "creatinine": np.round(np.clip(generator.lognormal(0.0, 0.5, rows), 0.2, 15), 2),
        "lactate": np.round(np.clip(generator.lognormal(0.34, 0.45, rows), 0.3, 20), 1),
        "white_cells": np.round(np.clip(generator.lognormal(2.1, 0.4, rows), 0.3, 80), 1),
        "platelets": np.clip(np.round(generator.gamma(7, 33, rows)), 5, 900).astype(np.int64),
    }


def _history(age: np.ndarray, streams: Streams) -> dict[str, np.ndarray]:
    generator = streams.numpy("history")
    older = np.exp(0.02 * (age - 60.0))  # a history grows with age
    return {
        name: (generator.random(len(age)) < np.minimum(share * older, 0.9)).astype(np.int64)
        for name, (share, _) in HISTORY.items()
    }


def _intercept(score: np.ndarray) -> float:
    """The constant with which the mean chance is ``POSITIVE``, by bisection."""
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        if float(np.mean(1 / (1 + np.exp(-(score + middle))))) < POSITIVE:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _stratified_draw(chance: np.ndarray, streams: Streams) -> np.ndarray:
    """Deaths by systematic sampling: each row keeps its chance, and their number is within one of the sum of
    chances.

    Independent draws would leave a small table now and then with a share far from 2.5 %.
    """
    generator = streams.numpy("died")
    order = generator.permutation(len(chance))
    steps = np.floor(np.cumsum(chance[order]) + generator.random())
    died = np.zeros(len(chance), dtype=np.int64)
    died[order] = (np.diff(steps, prepend=0.0) > 0).astype(np.int64)
    return died


def _empty_cells(rows: int, streams: Streams) -> dict[str, np.ndarray]:
    """Which cells are empty: laboratory values that were not asked for, and two fields nobody filled in."""
    generator = streams.numpy("empty")
    shares = {
        "lactate": 0.3,
        "white_cells": 0.08,
        "platelets": 0.08,
        "creatinine": 0.06,
        "marital_status": 0.03,
    }
    return {name: generator.random(rows) < share for name, share in shares.items()}
