"""How much of the truth a claim about all rows together holds, and what a guess from public marginals gets."""

from __future__ import annotations

import numpy as np

from seepage.federation import Truth
from seepage.metrics.reference import Reference
from seepage.observation import Tally
from seepage.results import ALL_COLUMNS, ATTACK, Measure
from seepage.results.tallies import PUBLIC

NEAR = 0.5  # a count is whole, and its interval is not


def tally_measures(tally: Tally, truth: Truth, training: Reference) -> dict[Measure, float]:
    """Every number about one claim, the guess beside it.

    The guess knows the shares of the whole training part, as published marginals tell them, and nothing of the update:
    a category is there if that is likelier than not among so many rows, and has its share of them.
    """
    rows = len(truth.rows)
    true = [
        np.bincount(truth.rows.codes[:, place], minlength=len(column.categories)).astype(float)
        for place, column in enumerate(truth.rows.schema.categorical)
    ]
    names = [column.name for column in truth.rows.schema.categorical]
    guessed = [1 - (1 - share) ** rows > 0.5 for share in training.shares]
    found = _present(ATTACK, names, [each == 1 for each in tally.present], [each >= 0 for each in tally.present], true)
    found |= _present(PUBLIC, names, guessed, [np.ones(len(each), dtype=bool) for each in guessed], true)
    found[Measure(ATTACK, ALL_COLUMNS, "visible_from")] = np.nan if tally.visible is None else tally.visible
    if tally.counts is not None:
        found |= _counted(ATTACK, names, [each.middle for each in tally.counts], true)
        found |= _counted(PUBLIC, names, [share * rows for share in training.shares], true)
        found |= _covered(tally, true)
    if tally.labels is not None and truth.rows.schema.target.classes:
        found |= _labels(tally, truth, training)
    if tally.means is not None:
        found |= _means(tally, truth, training)
    return {measure: float(value) for measure, value in found.items()}


def _present(
    source: str, names: list[str], said: list[np.ndarray], known: list[np.ndarray], true: list[np.ndarray]
) -> dict[Measure, float]:
    """Of all categories, how many states were said rightly; and how many were found of those there, and of others."""
    every, sure, there = (np.concatenate(each) for each in (said, known, [each > 0 for each in true]))
    rare = np.concatenate([each == 1 for each in true])
    scores = {
        "presence": np.mean(sure & (every == there)),
        "present_found": _share(sure & every, there),
        "absent_found": _share(sure & ~every, ~there),
        "presence_wrong": float((sure & (every != there)).sum()),
        "lone_found": _share(sure & every, rare),  # a category that a single row has
        "lone": float(rare.sum()),
    }
    found = {Measure(source, ALL_COLUMNS, name): value for name, value in scores.items()}
    for name, one, own, count in zip(names, said, known, true, strict=True):
        found[Measure(source, name, "presence")] = float(np.mean(own & (one == (count > 0))))
    return found


def _share(of: np.ndarray, among: np.ndarray) -> float:
    return float(of[among].mean()) if among.any() else float("nan")


def _counted(source: str, names: list[str], said: list[np.ndarray], true: list[np.ndarray]) -> dict[Measure, float]:
    """How far counts are off, as a share of the rows: half the sum over a column's categories; 1 is all wrong."""
    rows = max(true[0].sum(), 1)
    off = [float(np.abs(one - count).sum() / (2 * rows)) for one, count in zip(said, true, strict=True)]
    found = {Measure(source, name, "count_error"): value for name, value in zip(names, off, strict=True)}
    return found | {Measure(source, ALL_COLUMNS, "count_error"): float(np.mean(off))}


def _covered(tally: Tally, true: list[np.ndarray]) -> dict[Measure, float]:
    """Of the categories that somebody has, how many true counts lie in their interval, and how wide that is."""
    assert tally.counts is not None
    inside, width = [], []
    for said, count in zip(tally.counts, true, strict=True):
        there = count > 0
        inside.append(((count >= said.low - NEAR) & (count <= said.high + NEAR))[there])
        width.append(((said.high - said.low) / max(count.sum(), 1))[there])
    return {
        Measure(ATTACK, ALL_COLUMNS, "count_covered"): float(np.concatenate(inside).mean()),
        Measure(ATTACK, ALL_COLUMNS, "count_width"): float(np.concatenate(width).mean()),
    }


def _labels(tally: Tally, truth: Truth, training: Reference) -> dict[Measure, float]:
    """The shares of the classes."""
    assert tally.labels is not None
    classes = len(truth.rows.schema.target.classes)
    true = np.bincount(truth.rows.target, minlength=classes).astype(float)
    public = np.bincount(training.table.target, minlength=classes) / len(training.table) * true.sum()
    inside = (true >= tally.labels.low - NEAR) & (true <= tally.labels.high + NEAR)
    return {
        Measure(ATTACK, ALL_COLUMNS, "label_error"): np.abs(tally.labels.middle - true).sum() / (2 * true.sum()),
        Measure(PUBLIC, ALL_COLUMNS, "label_error"): np.abs(public - true).sum() / (2 * true.sum()),
        Measure(ATTACK, ALL_COLUMNS, "label_covered"): inside.mean(),
    }


def _means(tally: Tally, truth: Truth, training: Reference) -> dict[Measure, float]:
    """Means of numbers, in deviations of the training part; the guess is the mean there."""
    assert tally.means is not None
    encoded = truth.encoder.encode(truth.rows, truth.statistics)[:, : len(tally.means.middle)]
    true = encoded.mean(0)
    public = truth.encoder.encode(training.table, truth.statistics)[:, : len(true)]
    spread = np.maximum(public.std(0), 1e-9)
    inside = (true >= tally.means.low) & (true <= tally.means.high)
    return {
        Measure(ATTACK, ALL_COLUMNS, "mean_error"): np.mean(np.abs(tally.means.middle - true) / spread),
        Measure(PUBLIC, ALL_COLUMNS, "mean_error"): np.mean(np.abs(public.mean(0) - true) / spread),
        Measure(ATTACK, ALL_COLUMNS, "mean_covered"): inside.mean(),
    }
