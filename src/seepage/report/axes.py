"""The dimensions along which leakage is shown: their steps in order, and how steps are said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from seepage.report import words
from seepage.report.leaks import Leak
from seepage.results.cells import Coordinate

_MILDER = {"share", "bits"}  # options of defences of which less is stronger


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A dimension of which several values were tested.

    Args:
        dimension: the coordinate.
        title: its name as a heading.
        axis: its name below a plot.
        steps: the values, in order.
        tick: a step below the axis.
        in_words: a step in a sentence.
        family: steps of one family belong together: only they are joined by a line.
    """

    dimension: str
    title: str
    axis: str
    steps: Sequence[Coordinate]
    tick: Callable[[Coordinate], str]
    in_words: Callable[[Coordinate], str]
    family: Callable[[Coordinate], str]


def axes_of(leaks: Sequence[Leak], parameters: Mapping[str, int]) -> list[Axis]:
    """The dimensions with at least two steps.

    Args:
        parameters: how many each model has, as far as is known.
    """
    every = [
        _sizes(leaks, "batch_size", "Batch size", "rows in a batch", words.batches),
        _sizes(leaks, "people", "Aligned rows", "aligned rows", lambda step: words.coordinate("people", step)),
        _sizes(
            leaks, "batches", "Batches seen", "batches the server saw", lambda step: words.coordinate("batches", step)
        ),
        _sizes(leaks, "watched", "Rounds joined", "rounds of each client that the attack joins", words.joined_rounds),
        _moments(leaks),
        _defences(leaks),
        _models(leaks, parameters),
    ]
    return [axis for axis in every if len(axis.steps) > 1]


def _tested(leaks: Sequence[Leak], dimension: str) -> list[Coordinate]:
    return list(dict.fromkeys(leak.place[dimension] for leak in leaks if dimension in leak.place))


def _same(step: Coordinate) -> str:
    return ""


def _sizes(leaks: Sequence[Leak], dimension: str, title: str, axis: str, in_words: Callable[[Coordinate], str]) -> Axis:
    steps = sorted(_tested(leaks, dimension), key=float)
    return Axis(dimension=dimension, title=title, axis=axis, steps=steps, tick=str, in_words=in_words, family=_same)


def _moments(leaks: Sequence[Leak]) -> Axis:
    def exposure(point: Coordinate) -> float:
        over = [leak.result.exposure for leak in leaks if leak.place["attack_point"] == point]
        return sum(over) / len(over)

    return Axis(
        dimension="attack_point",
        title="Moment of the attack",
        axis="attack point (mean passes over the clients' data)",
        steps=sorted(_tested(leaks, "attack_point"), key=exposure),
        tick=lambda point: f"{point} ({exposure(point):.1f})",
        in_words=lambda point: f"attack point {point}",
        family=_same,
    )


def _defences(leaks: Sequence[Leak]) -> Axis:
    """No defence first, then kind by kind, the milder before the stronger."""
    tested = [str(spec) for spec in _tested(leaks, "defense")]
    kinds = list(dict.fromkeys(words.name_of(spec) for spec in sorted(tested, key=lambda spec: spec != "none")))
    steps = sorted(tested, key=lambda spec: (kinds.index(words.name_of(spec)), _strength(spec)))
    real = [kind for kind in kinds if kind != "none"]
    options = {name for spec in tested for name, _ in words.options_of(spec)}
    one_number = len(real) == 1 and len(options) == 1
    return Axis(
        dimension="defense",
        title="Defence",
        axis=f"{real[0]}, {options.pop()}" if one_number else "defence",
        steps=steps,
        tick=_value_or_none if one_number else lambda spec: words.spec(str(spec), bare=True),
        in_words=words.defence,
        family=_same if len(real) == 1 else lambda spec: words.name_of(str(spec)),
    )


def _value_or_none(spec: Coordinate) -> str:
    return ", ".join(value for _, value in words.options_of(str(spec))) or "none"


def _strength(spec: str) -> tuple[float, ...]:
    values = [(name, words.reads_as(text)) for name, text in words.options_of(spec)]
    return tuple(-value if name in _MILDER else value for name, value in values)


def _models(leaks: Sequence[Leak], parameters: Mapping[str, int]) -> Axis:
    """From the smallest model to the largest, if their sizes are known."""
    tested = [str(spec) for spec in _tested(leaks, "model")]
    alike = len({words.name_of(spec) for spec in tested}) == 1
    known = all(spec in parameters for spec in tested)

    def tick(spec: Coordinate) -> str:
        options = ", ".join(f"{name} {value}" for name, value in words.options_of(str(spec)))
        shown = (options or "as it is") if alike else words.spec(str(spec))
        return f"{shown} ({words.count(parameters[str(spec)])})" if known else shown

    name = words.name_of(tested[0]) if alike else "model"
    ordered = sorted(tested, key=parameters.__getitem__) if known else tested
    return Axis(
        dimension="model",
        title="Model",
        axis=f"{name} (number of parameters)" if known else name,
        steps=ordered,
        tick=tick,
        in_words=lambda spec: words.spec(str(spec)),
        family=_same if alike else lambda spec: words.name_of(str(spec)),
    )
