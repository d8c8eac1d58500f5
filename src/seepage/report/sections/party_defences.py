"""What each design and each defence on messages costs, and what it leaves of the strongest attacks."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.section import Section
from seepage.report.sections.parties_verdict import amount, gain_of
from seepage.results import Interval
from seepage.results.parties import PartiesResult, PartiesSummary

_SETTING = ("dataset", "design", "guests", "defense", "variant")


@dataclass(frozen=True, kw_only=True)
class Price:
    """One setting: what the model is worth, and what is still read."""

    label: str
    f1: Interval | None
    macro_f1: Interval | None
    roc_auc: Interval | None
    epsilon: str
    columns: str
    labels: str


@dataclass(frozen=True)
class Prices:
    """All settings."""

    every: tuple[Price, ...]
    promised: bool


def party_defences(summary: PartiesSummary) -> Prices | None:
    """The price of every setting; nothing where there is only one."""
    settings: dict[tuple[object, ...], list[PartiesResult]] = {}
    for cell in summary.cells:
        settings.setdefault(tuple(cell.place[name] for name in _SETTING), []).append(cell)
    if len(settings) < 2:
        return None
    places = [{name: group[0].place[name] for name in _SETTING} for group in settings.values()]
    names = words.varying(places, always=("design", "defense"))
    prices = [_price(words.label(place, names), group) for place, group in zip(places, settings.values(), strict=True)]
    promised = any(cell.epsilon is not None for cell in summary.cells)
    return Prices(tuple(prices), promised)


def _price(label: str, cells: list[PartiesResult]) -> Price:
    model = next((cell.metrics for cell in cells if cell.measured), {})
    epsilon = next((cell.epsilon for cell in cells if cell.epsilon is not None), None)
    return Price(
        label=label,
        f1=model.get("f1"),
        macro_f1=model.get("macro_f1"),
        roc_auc=model.get("roc_auc"),
        epsilon="none promised" if epsilon is None else f"{epsilon:,.3g}",
        columns=_most([cell for cell in cells if cell.reads == "columns"]),
        labels=_most([cell for cell in cells if cell.reads == "labels"]),
    )


def _most(cells: list[PartiesResult]) -> str:
    """The attack that gained most, with its baseline."""
    worst = max((cell for cell in cells if cell.measured), key=gain_of, default=None)
    if worst is None:
        return words.NOTHING
    return f"{amount(worst, 'read')} (alone {amount(worst, 'alone')}), {worst.attack}"


SECTION = Section(
    name="party_defences",
    title="What each design and defence costs",
    short="Cost of defences",
    studies=(PartiesSummary,),
    place=40,
    view=party_defences,
)
