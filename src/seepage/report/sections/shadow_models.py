"""The models behind a property study: how many there are, and what they are worth."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.section import Section
from seepage.results.property import ModelsMade, PropertySummary

NAMED = 20  # target models whose numbers are written out; the summary has all
_MADE = ("dataset", "defense", "variant")


@dataclass(frozen=True)
class ModelLine:
    """The models of one defence."""

    label: str
    models: ModelsMade

    @property
    def failing(self) -> str:
        """Numbers of the target models that were used below the gate."""
        numbers = self.models.failing_targets
        rest = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
        return ", ".join(map(str, numbers[:NAMED])) + rest


@dataclass(frozen=True)
class Models:
    """All of them, and how many rows an owner has."""

    every: tuple[ModelLine, ...]
    rows: str


def shadow_models(summary: PropertySummary) -> Models | None:
    """What the models are worth; nothing if none was made."""
    if not summary.models:
        return None
    places = [{name: getattr(made, name) for name in _MADE} for made in summary.models]
    names = words.varying(places, always=("defense",))
    lines = tuple(
        ModelLine(words.label(place, names), made) for place, made in zip(places, summary.models, strict=True)
    )
    return Models(lines, words.span([made.rows_held for made in summary.models]))


SECTION = Section(
    name="shadow_models",
    title="The models",
    short="The models",
    studies=(PropertySummary,),
    place=50,
    view=shadow_models,
)
