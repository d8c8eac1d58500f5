"""What the attacker can trust without the truth: how often cells are right, by its own doubt about them."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report import words
from seepage.report.doubt import DoubtGroup, groups_of
from seepage.report.figure import Figure, axis, dots, error_bars, means, named_places
from seepage.report.leaks import ReadRows, leaks_of
from seepage.report.section import Section
from seepage.results.rows import RowsSummary
from seepage.results.updates import UpdatesResult, UpdatesSummary
from seepage.results.vertical import VerticalSummary


@dataclass(frozen=True)
class TrustRow:
    """One kind of cells in one setting."""

    number: int
    label: str
    group: DoubtGroup


@dataclass(frozen=True, kw_only=True)
class Trust:
    """The setting that leaks most among those whose attacker knows its doubt, and the ends of all others."""

    number: int
    label: str
    alone: bool
    groups: tuple[DoubtGroup, ...]
    figures: tuple[Figure, ...]
    settings: tuple[TrustRow, ...]
    simulated: bool = False


def trust(summary: ReadRows) -> Trust | None:
    """Doubt beside accuracy in the worst setting that has both; None when no attack tells its doubt.

    A setting in which the attacker is equally sure of everything explains nothing: others go before it.
    """
    leaks = leaks_of(summary)
    standard = summary.settings.get("numbers", "standard") == "standard"
    every = {leak.number: groups_of(leak.result.doubt, standard=standard) for leak in leaks if leak.measured}
    known = [leak for leak in leaks if every.get(leak.number)]
    if not known:
        return None
    worst = max(known, key=lambda leak: (any(group.divided for group in every[leak.number]), leak.rank))
    return Trust(
        number=worst.number,
        label=worst.label,
        alone=len(leaks) == 1,
        groups=every[worst.number],
        figures=tuple(_figure(group) for group in every[worst.number]),
        simulated=isinstance(worst.result, UpdatesResult) and not worst.result.captured,
        settings=tuple(TrustRow(leak.number, leak.label, group) for leak in known for group in every[leak.number]),
    )


def _figure(group: DoubtGroup) -> Figure:
    """Share of cells right by the attacker's own doubt about them."""
    places: list[JsonValue] = list(range(len(group.bars)))
    hover: dict[str, JsonValue] = {"y": places, "hovertemplate": "%{x:.0f} %<extra>%{fullData.name}</extra>"}
    right = [bar.attack for bar in group.bars]
    read: dict[str, JsonValue] = {
        "type": "bar",
        "orientation": "h",
        "width": 0.62,
        "name": "read by the attack",
        "marker": {"color": "var(--attack)"},
        "x": means(right, 100),
        "error_x": error_bars(right, "var(--ink)", 100),
        **hover,
    }
    guessed = means((bar.prior for bar in group.bars), 100)
    labels: list[JsonValue] = [f"{bar.label}<br>{words.plural(bar.cells, 'cell')}" for bar in group.bars]
    return Figure(
        name=f"plot-trust-{group.kind}",
        description=f"Bar plot of {words.plural(len(group.bars), 'bar')}: the share of cells right by {group.measure}. "
        f"{group.sentence} The table below holds the same numbers.",
        traces=[read, dots("guess of the same cells", "var(--prior)", "diamond", 10, x=guessed, **hover)],
        x=axis("share of cells right, %", range=[0, 102], showgrid=True),
        y=named_places(labels),
        height=130 + 40 * len(group.bars),
    )


SECTION: Section[ReadRows] = Section(
    name="trust",
    title="What the attacker can trust without the truth",
    short="Attacker's trust",
    studies=(RowsSummary, VerticalSummary, UpdatesSummary),
    place=50,
    view=trust,
)
