"""What each defence against property inference costs the owners of models, and what it leaves of the attack."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.section import Section
from seepage.report.shares import questions_of
from seepage.results.property import ModelsMade, PropertyResult, PropertySummary

_MADE = ("dataset", "defense", "variant")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """A defence: what it leaves of the owners' models, and of the attack on the finest cut."""

    label: str
    models: ModelsMade
    repeated: str
    epsilon: str
    attack: PropertyResult | None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """All defences, and the delta of those that promise an epsilon."""

    every: tuple[Cost, ...]
    delta: str


def defence_cost(summary: PropertySummary) -> Costs | None:
    """The price of every defence; nothing if no models were made."""
    if not summary.models:
        return None
    finest = {
        tuple(question.place[name] for name in _MADE): question.best[-1]
        for question in questions_of(summary)
        if question.best
    }
    places = [{name: getattr(made, name) for name in _MADE} for made in summary.models]
    names = words.varying(places, always=("defense",))
    costs = tuple(
        Cost(
            label=words.label(place, names),
            models=made,
            repeated=words.percent(made.rows_repeated) if made.rows_repeated else "none",
            epsilon=_epsilon(made),
            attack=finest.get(tuple(place[name] for name in _MADE)),
        )
        for place, made in zip(places, summary.models, strict=True)
    )
    deltas = sorted({f"{made.delta:g}" for made in summary.models if made.delta})
    return Costs(every=costs, delta=", ".join(deltas))


def _epsilon(made: ModelsMade) -> str:
    if made.epsilon is not None:
        return f"{made.epsilon:.2g}"
    return "none promised" if made.delta is None else "infinite"


SECTION = Section(
    name="defence_cost",
    title="What each defence costs",
    short="Cost of defences",
    studies=(PropertySummary,),
    place=40,
    view=defence_cost,
)
