"""Shares of a property: what was asked of one set of models, and how finely it was answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from seepage.report import words
from seepage.report.level import Level, level_of, overall
from seepage.results import Interval
from seepage.results.cells import Coordinate
from seepage.results.property import PropertyResult, PropertySummary

_ASKED = ("dataset", "property_text", "observed", "defense", "variant")
SEEN = {"weights": "weights", "update": "updates", "gradient": "gradients"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """The meta-models that read the same share from the same models: one for every cut and loss."""

    label: str
    place: dict[str, Coordinate]
    cells: tuple[PropertyResult, ...]

    @cached_property
    def best(self) -> list[PropertyResult]:
        """The best meta-model of every cut, the coarsest cut first."""
        best: dict[int, PropertyResult] = {}
        for cell in self.cells:
            if cell.measured and (cell.classes not in best or cell.accuracy.mean > best[cell.classes].accuracy.mean):
                best[cell.classes] = cell
        return [best[classes] for classes in sorted(best)]

    @property
    def seen(self) -> str:
        """What the attacker reads, as a word: ``weights``."""
        return SEEN.get(str(self.place["observed"]), str(self.place["observed"]))

    @cached_property
    def level(self) -> Level:
        return overall([cell_level(cell) for cell in self.cells])

    @cached_property
    def most_read(self) -> PropertyResult | None:
        """The meta-model that is furthest above guessing; None if nothing was measured."""
        return max(self.best, key=lambda cell: cell.accuracy.mean - cell.guessing, default=None)

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts questions; the one that leaks most is the largest."""
        most = self.most_read
        return self.level.severity, most.accuracy.mean - most.guessing if most else 0.0

    @property
    def named(self) -> str:
        """``in 2 ranges for 42 % of the models (guessing: 50 %), in 4 ranges for ...``"""
        return ", ".join(
            f"in {cell.classes} ranges for {words.percent(cell.accuracy.mean)} of the models "
            f"(guessing: {words.percent(cell.guessing)})"
            for cell in self.best
        )


def questions_of(summary: PropertySummary) -> tuple[Question, ...]:
    """Everything that was asked, in the order of the summary."""
    groups: dict[tuple[Coordinate, ...], list[PropertyResult]] = {}
    for cell in summary.cells:
        groups.setdefault(tuple(getattr(cell, name) for name in _ASKED), []).append(cell)
    places = [dict(zip(_ASKED, key, strict=True)) for key in groups]
    names = words.varying(places, otherwise=("defense",))
    return tuple(
        Question(label=words.label(place, names), place=place, cells=tuple(cells))
        for place, cells in zip(places, groups.values(), strict=True)
    )


def gain_of(cell: PropertyResult) -> Interval | None:
    """What is named beyond guessing."""
    return cell.judged.get("gain")


def cell_level(cell: PropertyResult) -> Level:
    """Where one meta-model stands."""
    return level_of(cell, gain_of(cell))


def loss_of(cell: PropertyResult) -> str:
    """The loss, with the product of a hierarchy: ``sor 4x5``."""
    return f"{cell.loss} {cell.hierarchy}".strip()
