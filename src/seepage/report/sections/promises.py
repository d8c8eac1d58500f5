"""What differential privacy promises the clients, as far as a run states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage.report import words
from seepage.report.section import Section
from seepage.results.cells import Coordinate
from seepage.results.rows import Promise, RowsSummary

_TRAINED = ("dataset", "protocol", "model", "batch_size", "defense", "variant")


@dataclass(frozen=True, kw_only=True)
class PromiseLine:
    """The guarantee of one choice, over its clients: the lowest and the highest where they differ."""

    label: str
    clients: int
    epsilon: str
    delta: str
    steps: str
    sampling_rate: str


@dataclass(frozen=True)
class Promises:
    """All choices whose defence promises something."""

    every: tuple[PromiseLine, ...]


def promises(summary: RowsSummary) -> Promises | None:
    """One line for each trained choice whose defence promises something, repeats and clients together."""
    groups: dict[tuple[Coordinate, ...], list[Promise]] = {}
    for entry in summary.privacy:
        groups.setdefault(tuple(getattr(entry, name) for name in _TRAINED), []).append(entry)
    if not groups:
        return None
    places = [dict(zip(_TRAINED, key, strict=True)) for key in groups]
    names = words.varying(places, always=("batch_size", "defense"))
    lines = (_line(words.label(place, names), group) for place, group in zip(places, groups.values(), strict=True))
    return Promises(tuple(lines))


def _line(label: str, group: Sequence[Promise]) -> PromiseLine:
    return PromiseLine(
        label=label,
        clients=len(group),
        epsilon=_epsilon([entry.epsilon for entry in group]),
        delta=words.span([entry.delta for entry in group]),
        steps=words.span([entry.steps for entry in group]),
        sampling_rate=words.span([entry.sampling_rate for entry in group]),
    )


def _epsilon(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return words.span(known) if len(known) == len(values) else "infinite: nothing is promised"


SECTION: Section[RowsSummary] = Section(
    name="promises",
    title="What differential privacy promises",
    short="Promises",
    studies=(RowsSummary,),
    place=64,
    view=promises,
)
