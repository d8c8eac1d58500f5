"""Leakage along one dimension, everything else equal: batch size, moment of the attack, defence, model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage.report import words
from seepage.report.verdict import Leak
from seepage.results import Interval

MANY_LINES = 8
_MILDER = {"share", "bits"}  # options of defences of which less is stronger
_GROUPS = ("batch_size", "defense", "model", "attack", "attack_point")  # what many lines are put together by


@dataclass(frozen=True)
class Series:
    """One line of a trend; None where the setting was not tested or not measured."""

    name: str
    values: tuple[Interval | None, ...]


@dataclass(frozen=True)
class Trend:
    """Leakage along one dimension. ``families`` says which neighbours belong together: only those are joined."""

    dimension: str
    title: str
    axis: str
    ticks: tuple[str, ...]
    families: tuple[str, ...]
    series: tuple[Series, ...]
    guess: tuple[float | None, ...]
    sentence: str


@dataclass(frozen=True)
class _Axis:
    """The steps of a dimension, in order, and how they are said."""

    title: str
    axis: str
    steps: list[Any]
    tick: Callable[[Any], str]
    said: Callable[[Any], str]
    family: Callable[[Any], str]


def gather_trends(leaks: Sequence[Leak], parameters: Mapping[str, int]) -> tuple[Trend, ...]:
    """Leakage over each dimension of which several values were tested.

    Args:
        parameters: how many each model has, as far as is known.
    """
    axes = {
        "batch_size": _batch_sizes(leaks),
        "attack_point": _moments(leaks),
        "defense": _defences(leaks),
        "model": _models(leaks, parameters),
    }
    return tuple(_trend(dimension, axis, leaks) for dimension, axis in axes.items() if len(axis.steps) > 1)


def _batch_sizes(leaks: Sequence[Leak]) -> _Axis:
    return _Axis("Batch size", "rows in a batch", sorted(_tested(leaks, "batch_size")), str, words.batches, _same)


def _moments(leaks: Sequence[Leak]) -> _Axis:
    def exposure(point: str) -> float:
        over = [leak.exposure for leak in leaks if leak.cell.attack_point == point]
        return sum(over) / len(over)

    return _Axis(
        "Moment of the attack",
        "attack point (mean passes over the clients' data)",
        sorted(_tested(leaks, "attack_point"), key=exposure),
        lambda point: f"{point} ({exposure(point):.1f})",
        lambda point: f"attack point {point}",
        _same,
    )


def _defences(leaks: Sequence[Leak]) -> _Axis:
    """No defence first, then kind by kind, the milder before the stronger."""
    tested = [str(spec) for spec in _tested(leaks, "defense")]
    kinds = list(dict.fromkeys(words.name_of(spec) for spec in sorted(tested, key=lambda spec: spec != "none")))
    steps = sorted(tested, key=lambda spec: (kinds.index(words.name_of(spec)), _strength(spec)))
    real = [kind for kind in kinds if kind != "none"]
    options = {name for spec in tested for name, _ in words.options_of(spec)}
    if len(real) == 1 and len(options) == 1:  # one number says it all
        axis = f"{real[0]}, {options.pop()}"
        return _Axis("Defence", axis, steps, _values_or_none, _said_defence, _same)
    family = _same if len(real) == 1 else words.name_of
    return _Axis("Defence", "defence", steps, lambda spec: words.spec(spec, bare=True), _said_defence, family)


def _models(leaks: Sequence[Leak], parameters: Mapping[str, int]) -> _Axis:
    """From the smallest model to the largest, if their sizes are known."""
    tested = [str(spec) for spec in _tested(leaks, "model")]
    alike = len({words.name_of(spec) for spec in tested}) == 1
    known = all(spec in parameters for spec in tested)

    def tick(spec: str) -> str:
        options = ", ".join(f"{name} {value}" for name, value in words.options_of(spec))
        shown = (options or "as it is") if alike else words.spec(spec)
        return f"{shown} ({words.count(parameters[spec])})" if known else shown

    name = words.name_of(tested[0]) if alike and tested else "model"
    steps = sorted(tested, key=lambda spec: parameters[spec]) if known else tested
    axis = f"{name} (number of parameters)" if known else name
    return _Axis("Model", axis, steps, tick, words.spec, _same if alike else words.name_of)


def _same(step: Any) -> str:
    return ""


def _values_or_none(spec: str) -> str:
    return ", ".join(value for _, value in words.options_of(spec)) or "none"


def _said_defence(spec: str) -> str:
    return words.said("defense", spec)


def _strength(spec: str) -> tuple[float, ...]:
    found = []
    for name, text in words.options_of(spec):
        value = words.reads_as(text)
        found.append(-value if name in _MILDER else value)
    return tuple(found)


def _tested(leaks: Sequence[Leak], dimension: str) -> list[Any]:
    return list(dict.fromkeys(getattr(leak.cell, dimension) for leak in leaks))


def _trend(dimension: str, axis: _Axis, leaks: Sequence[Leak]) -> Trend:
    rest = tuple(name for name in words.DIMENSIONS if name != dimension)
    lines: dict[tuple[Any, ...], dict[Any, Leak]] = {}
    for leak in leaks:
        key = tuple(getattr(leak.cell, name) for name in rest)
        lines.setdefault(key, {})[getattr(leak.cell, dimension)] = leak
    varying = [i for i in range(len(rest)) if len({key[i] for key in lines}) > 1]
    series = {
        key: Series(
            words.joined(words.said(rest[i], key[i]) for i in varying) or "all settings",
            tuple(line[step].accuracy if step in line else None for step in axis.steps),
        )
        for key, line in lines.items()
    }
    return Trend(
        dimension=dimension,
        title=axis.title,
        axis=axis.axis,
        ticks=tuple(axis.tick(step) for step in axis.steps),
        families=tuple(axis.family(step) for step in axis.steps),
        series=_few(rest, series),
        guess=tuple(_mean_guess(leaks, dimension, step) for step in axis.steps),
        sentence=_sentence(axis, list(series.values())),
    )


def _few(rest: Sequence[str], series: Mapping[tuple[Any, ...], Series]) -> tuple[Series, ...]:
    """At most eight lines: if there are more, the worst of those that share a batch size, or a defence, and so on."""
    if len(series) <= MANY_LINES:
        return tuple(series.values())
    for dimension in (name for name in _GROUPS if name in rest):
        groups: dict[Any, list[Series]] = {}
        for key, line in series.items():
            groups.setdefault(key[rest.index(dimension)], []).append(line)
        if 1 < len(groups) <= MANY_LINES:
            return tuple(
                _worst(f"{words.said(dimension, value)}, worst of {len(lines)}", lines)
                for value, lines in groups.items()
            )
    return (_worst(f"worst of {len(series)} settings", list(series.values())),)


def _worst(name: str, series: Sequence[Series]) -> Series:
    """The upper edge of some lines: at each step the setting that leaks most."""
    columns = zip(*(line.values for line in series), strict=True)
    return Series(name, tuple(max((v for v in column if v), key=lambda v: v.mean, default=None) for column in columns))


def _mean_guess(leaks: Sequence[Leak], dimension: str, step: Any) -> float | None:
    here = [leak for leak in leaks if getattr(leak.cell, dimension) == step]
    known = [leak.best_guess.mean for leak in here if leak.best_guess]
    return sum(known) / len(known) if known else None


def _sentence(axis: _Axis, series: Sequence[Series]) -> str:
    if len({axis.family(step) for step in axis.steps}) > 1:
        return _extremes(axis, series)
    ends = [(line.values[0], line.values[-1]) for line in series]
    both = [(first.mean, last.mean) for first, last in ends if first and last]
    if not both:
        return "No setting was measured at both ends, so they cannot be compared."
    first, last = (sum(side) / len(both) for side in zip(*both, strict=True))
    change = "stayed the same" if abs(last - first) < 0.005 else "fell" if last < first else "rose"
    moved = "" if change == "stayed the same" else f" from {words.percent(first)} to {words.percent(last)}"
    span = f"From {axis.said(axis.steps[0])} to {axis.said(axis.steps[-1])}"
    return f"{span}, the share of cells read {change}{moved}{_over(len(both))}."


def _extremes(axis: _Axis, series: Sequence[Series]) -> str:
    """Different kinds have no order: which let through the least and the most, over lines that have all of them."""
    whole = [[value.mean for value in line.values if value] for line in series if all(line.values)]
    if not whole:
        return "No setting was measured with all of them, so they cannot be compared."
    means = [sum(column) / len(whole) for column in zip(*whole, strict=True)]
    least, most = means.index(min(means)), means.index(max(means))
    return (
        f"Least was read with {axis.said(axis.steps[least])}, {words.percent(means[least])} of the cells, and most "
        f"with {axis.said(axis.steps[most])}, {words.percent(means[most])}{_over(len(whole))}."
    )


def _over(lines: int) -> str:
    return f", on average over {lines} otherwise equal settings" if lines > 1 else ""
