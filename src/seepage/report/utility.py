"""What the model is worth at every attack point, beside what leaks there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage.report import words
from seepage.report.verdict import Leak
from seepage.results import Interval

_POINT = ("dataset", "protocol", "model", "batch_size", "defense", "variant", "attack_point")
_GROUPS = (
    "defense",
    "model",
    "dataset",
    "variant",
    "batch_size",
)  # the first that varies tells markers of the plot apart
_LOWER_IS_BETTER = {"loss", "rmse", "mse", "mae", "log_loss"}
_PREFERRED = {
    "binary": ("roc_auc", "auc", "balanced_accuracy", "f1", "accuracy"),
    "multiclass": ("balanced_accuracy", "macro_f1", "f1_macro", "f1", "accuracy"),
    "regression": ("r2", "rmse", "mae", "mse"),
}


@dataclass(frozen=True)
class UtilityPoint:
    """One trained model at one moment: scores are means over repeats."""

    label: str
    group: str
    batch_size: int
    attack_point: str
    repeats: int
    round: str
    exposure: str
    validation: dict[str, float | None]
    test: dict[str, float | None]
    leak: Interval | None


@dataclass(frozen=True)
class UtilityView:
    """The utility table, and the score that is plotted against leakage."""

    points: tuple[UtilityPoint, ...]
    validation_scores: tuple[str, ...]
    test_scores: tuple[str, ...]
    score: str | None

    @property
    def score_title(self) -> str:
        name = self.score or ""
        return f"validation {words.metric(name)} ({'lower' if name in _LOWER_IS_BETTER else 'higher'} is better)"


def gather_utility(entries: Sequence[Mapping[str, Any]], leaks: Sequence[Leak], task: str) -> UtilityView:
    """The utility of every (protocol, model, batch size, defence, attack point), repeats together."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for entry in entries:
        whole = {"dataset": "", "defense": "none", "variant": ""} | dict(entry)  # summaries of before there were these
        groups.setdefault(tuple(whole[name] for name in _POINT), []).append(entry)
    varying = tuple(name for i, name in enumerate(_POINT) if len({key[i] for key in groups}) > 1)
    shown = varying or ("batch_size",)
    by = next((name for name in _GROUPS if name in varying), "batch_size")
    points = tuple(_point(key, group, shown, by, leaks) for key, group in groups.items())
    scores = tuple(dict.fromkeys(name for point in points for name in point.validation))
    tests = tuple(dict.fromkeys(name for point in points for name in point.test))
    return UtilityView(points, scores, tests, _choose(scores, task))


def _choose(scores: Sequence[str], task: str) -> str | None:
    """The score that says most about this task, or else the first there is."""
    preferred = [name for name in _PREFERRED.get(task, ()) if name in scores]
    others = [name for name in scores if name != "loss"]
    return next(iter([*preferred, *others, *scores]), None)


def _point(
    key: tuple[Any, ...], group: Sequence[Mapping[str, Any]], shown: tuple[str, ...], by: str, leaks: Sequence[Leak]
) -> UtilityPoint:
    cell = dict(zip(_POINT, key, strict=True))
    here = [leak for leak in leaks if all(getattr(leak.cell, name) == cell[name] for name in _POINT if cell[name])]
    measured = [leak.accuracy for leak in here if leak.accuracy]
    rounds = [number for entry in group if (number := words.number(entry.get("round"))) is not None]
    passes = [mean for entry in group if (mean := words.number((entry.get("exposure") or {}).get("mean"))) is not None]
    return UtilityPoint(
        label=words.joined(words.said(name, cell[name]) for name in shown),
        group=words.batches(cell[by]) if by == "batch_size" else words.said(by, cell[by]),
        batch_size=cell["batch_size"],
        attack_point=cell["attack_point"],
        repeats=len(group),
        round=_span(rounds),
        exposure=f"{sum(passes) / len(passes):.1f}" if passes else words.NOTHING,
        validation=_means([entry.get("validation") or {} for entry in group]),
        test=_means([entry.get("test") or {} for entry in group]),
        leak=max(measured, key=lambda value: value.mean, default=None),
    )


def _span(values: Sequence[float]) -> str:
    if not values:
        return words.NOTHING
    low, high = min(values), max(values)
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"


def _means(entries: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in dict.fromkeys(name for entry in entries for name in entry):
        known = [value for entry in entries if (value := words.number(entry.get(name))) is not None]
        means[name] = sum(known) / len(known) if known else None
    return means
