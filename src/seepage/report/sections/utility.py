"""What the model is worth at every attack point, beside what leaks there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seepage.report import words
from seepage.report.figure import Figure, axis, dots, error_bars, line_color, line_symbol, means, numbers, text, texts
from seepage.report.leaks import Leak, leaks_of
from seepage.report.section import Section
from seepage.report.worth import constant
from seepage.results import Interval
from seepage.results.cells import Coordinate
from seepage.results.rows import RowsSummary, Utility

_POINT = ("dataset", "protocol", "model", "batch_size", "defense", "variant", "attack_point")
# The first that varies tells the markers of the plot apart.
_GROUPS = ("defense", "model", "dataset", "variant", "batch_size")
_LOWER_IS_BETTER = {"loss", "rmse", "mse", "mae", "log_loss"}
_PREFERRED = {
    "binary": ("roc_auc", "auc", "balanced_accuracy", "f1", "accuracy"),
    "multiclass": ("balanced_accuracy", "macro_f1", "f1_macro", "f1", "accuracy"),
    "regression": ("r2", "rmse", "mae", "mse"),
}
Scores = dict[str, float | None]
Key = tuple[Coordinate, ...]


@dataclass(frozen=True, kw_only=True)
class UtilityPoint:
    """One trained model at one moment: scores are means over repeats."""

    label: str
    group: str
    repeats: int
    round: str
    exposure: str
    validation: Scores
    test: Scores
    leak: Interval | None

    @property
    def constant(self) -> str:
        """How it is no better than a constant answer, and on which rows; empty where it is better."""
        for rows, scores in (("test", self.test), ("validation", self.validation)):
            if why := constant(scores):
                return f"no better than a constant: {why} ({rows} rows)"
        return ""

    @property
    def remark(self) -> str:
        """What must be known about it; nobody expects anything of a model that has not been trained."""
        return "not trained yet" if self.round == "0" else self.constant


@dataclass(frozen=True, kw_only=True)
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

    @property
    def figure(self) -> Figure | None:
        return _figure(self)


def utility(summary: RowsSummary) -> UtilityView:
    """The utility of every (protocol, model, batch size, defence, attack point), repeats together."""
    groups: dict[Key, list[Utility]] = {}
    for entry in summary.utility:
        groups.setdefault(tuple(getattr(entry, name) for name in _POINT), []).append(entry)
    read: dict[Key, list[Leak]] = {}
    for leak in leaks_of(summary):
        read.setdefault(tuple(leak.place[name] for name in _POINT), []).append(leak)
    places = [dict(zip(_POINT, key, strict=True)) for key in groups]
    names = words.varying(places, otherwise=("batch_size",))
    by = next((name for name in _GROUPS if name in names), "batch_size")
    points = tuple(
        _point(words.label(place, names), _group(by, place[by]), group, read.get(key, ()))
        for place, (key, group) in zip(places, groups.items(), strict=True)
    )
    scores = tuple(dict.fromkeys(name for point in points for name in point.validation))
    tests = tuple(dict.fromkeys(name for point in points for name in point.test))
    return UtilityView(
        points=points,
        validation_scores=scores,
        test_scores=tests,
        score=_choose(scores, summary.dataset.task),
    )


def _choose(scores: Sequence[str], task: str) -> str | None:
    """The score that says most about this task, or else the first there is."""
    preferred = [name for name in _PREFERRED.get(task, ()) if name in scores]
    others = [name for name in scores if name != "loss"]
    return next(iter([*preferred, *others, *scores]), None)


def _group(by: str, value: Coordinate) -> str:
    return words.batches(value) if by == "batch_size" else words.coordinate(by, value)


def _point(label: str, name: str, group: Sequence[Utility], leaks: Sequence[Leak]) -> UtilityPoint:
    measured = [leak.accuracy for leak in leaks if leak.accuracy]
    passes = [entry.exposure.mean for entry in group]
    return UtilityPoint(
        label=label,
        group=name,
        repeats=len(group),
        round=words.span([entry.round for entry in group]),
        exposure=f"{sum(passes) / len(passes):.1f}",
        validation=_averages([entry.validation for entry in group]),
        test=_averages([entry.test or {} for entry in group]),
        leak=max(measured, key=lambda value: value.mean, default=None),
    )


def _averages(entries: Sequence[Mapping[str, float | None]]) -> Scores:
    averages: Scores = {}
    for name in dict.fromkeys(name for entry in entries for name in entry):
        known = [value for entry in entries if (value := entry.get(name)) is not None]
        averages[name] = sum(known) / len(known) if known else None
    return averages


def _figure(view: UtilityView) -> Figure | None:
    """Model quality against leakage, one marker per model and moment."""
    score = view.score or ""
    known = [point for point in view.points if point.leak and point.validation.get(score) is not None]
    if not known:
        return None
    traces = []
    for number, name in enumerate(dict.fromkeys(point.group for point in known)):
        group = [point for point in known if point.group == name]
        read = [point.leak for point in group]
        color = line_color(number)
        traces.append(
            dots(
                text(name, 44),
                color,
                line_symbol(number),
                11,
                x=numbers(point.validation[score] for point in group),
                y=means(read, 100),
                error_y=error_bars(read, color, 100),
                text=texts((point.label for point in group), 80),
                hovertemplate="%{text}<br>utility %{x:.3f}, cells read %{y:.0f} %<extra></extra>",
            )
        )
    return Figure(
        name="plot-utility",
        description=f"Scatter plot of {words.plural(len(known), 'point')}: {view.score_title} against the share of "
        "cells read. The table below holds the same numbers.",
        traces=traces,
        x=axis(view.score_title, showgrid=True),
        y=axis("share of cells read, %", range=[-2, 102], showgrid=True),
        height=420,
    )


SECTION: Section[RowsSummary] = Section(
    name="utility",
    title="What the model is worth",
    short="Model utility",
    studies=(RowsSummary,),
    place=70,
    view=utility,
)
