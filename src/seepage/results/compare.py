"""Two runs side by side: what is equal in both, what differs, and what became better or worse.

Cells that agree in every coordinate are compared first. Of those that have no such partner, the coordinates in which
the two runs have no value in common (other defences, other batch sizes) are what differs; cells that agree in the rest
are compared across it, and each line names both values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage._core import InputError
from seepage.results.cells import Coordinate
from seepage.results.frames import number_of
from seepage.results.gate import label
from seepage.results.interval import Interval
from seepage.results.result import Result
from seepage.results.summary import HEADLINE, Summary

Place = dict[str, Coordinate]
_NO_SETTINGS = {"reveal"}  # changes no number


@dataclass(frozen=True)
class Difference:
    """One metric of one cell in both runs. ``clear`` if the intervals leave no doubt that it differs.

    ``cell`` says what is equal in both, ``differs`` what is not (``defense none → dp_sgd:noise=1``).
    """

    cell: str
    metric: str
    first: float
    second: float
    clear: bool
    differs: str = ""

    @property
    def change(self) -> float:
        return self.second - self.first


@dataclass(frozen=True)
class Comparison:
    """Two runs compared.

    Args:
        differences: equal cells before those that are compared across a difference, the largest change first.
        only_first, only_second: cells that have no partner at all.
        equal: coordinates that all compared cells have in common.
        settings: settings beside coordinates that differ, as ``exposure 5 → 25``.
        computed: what the two were computed by, where it differs: versions, processor, kernels, threads, compiler.
        same_rows: whether both are of the same rows; None where that is not known.
    """

    differences: tuple[Difference, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    equal: str = ""
    settings: tuple[str, ...] = ()
    same_rows: bool | None = None
    computed: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Pair:
    first: Result
    second: Result

    @property
    def equal(self) -> Place:
        other = self.second.place
        return {name: value for name, value in self.first.place.items() if other.get(name) == value}

    @property
    def differs(self) -> str:
        other, equal = self.second.place, self.equal
        return ", ".join(
            f"{name.replace('_', ' ')} {_said(value)} → {_said(other[name])}"
            for name, value in self.first.place.items()
            if name not in equal
        )


def compare(first: Summary, second: Summary) -> Comparison:
    """The cells of two summaries of one study, matched by what was tested."""
    if first.study != second.study:
        raise InputError(
            f"One run is of the study {first.study}, the other of {second.study}: their numbers are of different "
            "things. Compare runs of one study."
        )
    one, two = _by_place(first.cells), _by_place(second.cells)
    same = [_Pair(one[place], two[place]) for place in one if place in two]
    left = [cell for place, cell in one.items() if place not in two]
    right = [cell for place, cell in two.items() if place not in one]
    across = _across(left, right)
    paired = {id(cell) for pair in across for cell in (pair.first, pair.second)}
    common = _common([*same, *across])
    return Comparison(
        tuple(each for pairs in (same, across) for each in _differences(first.study, pairs, common)),
        tuple(label(cell.place) for cell in left if id(cell) not in paired),
        tuple(label(cell.place) for cell in right if id(cell) not in paired),
        label(common),
        tuple(_settings(first, second)),
        first.dataset.digest == second.dataset.digest if first.dataset.digest and second.dataset.digest else None,
        tuple(_computed(first, second)),
    )


def _across(left: Sequence[Result], right: Sequence[Result]) -> list[_Pair]:
    """Cells without an equal partner, paired where they agree in every coordinate that both sides share values of."""
    if not left or not right:
        return []
    shared = [
        name for name in left[0].place if {cell.place[name] for cell in left} & {cell.place.get(name) for cell in right}
    ]
    if not set(shared) - {"variant"}:
        return []
    partners: dict[tuple[Coordinate, ...], list[Result]] = {}
    for cell in right:
        partners.setdefault(tuple(cell.place[name] for name in shared), []).append(cell)
    return [
        _Pair(cell, partner)
        for cell in left
        for partner in partners.get(tuple(cell.place[name] for name in shared), ())
    ]


def _common(pairs: Sequence[_Pair]) -> Place:
    """What all compared cells have in common."""
    if not pairs:
        return {}
    first, *rest = [pair.equal for pair in pairs]
    return {name: value for name, value in first.items() if all(name in each and each[name] == value for each in rest)}


def _differences(study: str, pairs: Sequence[_Pair], common: Place) -> list[Difference]:
    found = []
    for pair in pairs:
        own = {name: value for name, value in pair.equal.items() if name not in common}
        for metric in HEADLINE[study]:
            before, after = number_of(pair.first, metric), number_of(pair.second, metric)
            if before is None or after is None:
                continue
            clear = abs(after.mean - before.mean) > math.hypot(_spread(before), _spread(after))
            measured = before.low is not None and after.low is not None
            words = label(own) or label(pair.equal)
            found.append(Difference(words, metric, before.mean, after.mean, bool(clear and measured), pair.differs))
    return sorted(found, key=lambda each: (-abs(each.change), each.cell, each.differs, each.metric))


def _settings(first: Summary, second: Summary) -> Iterator[str]:
    """Settings that differ and are no coordinates: those are named cell by cell."""
    said = {name for cell in (*first.cells, *second.cells) for name in cell.place}
    said |= {f"{name}s" for name in said} | {"classes", "losses", "hierarchies", "phases", "failure_probabilities"}
    for name in dict.fromkeys([*first.settings, *second.settings]):
        before, after = first.settings.get(name), second.settings.get(name)
        if before != after and name not in said | _NO_SETTINGS:
            yield f"{name} {_written(before)} → {_written(after)}"


def _computed(first: Summary, second: Summary) -> Iterator[str]:
    """Where two runs were computed by different things. A compiler that neither used changes nothing."""
    one, two = first.versions | first.machine, second.versions | second.machine
    used = any("yes" in machine.get("compiled", "") for machine in (one, two))
    for name in dict.fromkeys([*one, *two]):
        before, after = one.get(name), two.get(name)
        if before != after and (name != "compiler" or used):
            yield f"{name} {before or 'not known'} → {after or 'not known'}"


def _written(value: JsonValue) -> str:
    if value is None or value in ({}, []):
        return "not given"
    if isinstance(value, dict):
        return ", ".join(f"{key}={entry}" for key, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _said(value: Coordinate) -> str:
    return str(value) or "as given"


def _by_place(cells: Sequence[Result]) -> dict[tuple[tuple[str, Coordinate], ...], Result]:
    return {tuple(cell.place.items()): cell for cell in cells}


def _spread(interval: Interval) -> float:
    """Half the interval; 0 where there is none."""
    return 0.0 if interval.low is None or interval.high is None else (interval.high - interval.low) / 2
