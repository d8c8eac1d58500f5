"""What each attack read, compared with guessing: one line for every tested setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report import words
from seepage.report.figure import LABEL_LENGTH, Figure, axis, dots, error_bars, means, named_places, text
from seepage.report.leaks import Leak, ReadRows, guessed_from, leaks_of, with_truth
from seepage.report.section import Section
from seepage.results.rows import RowsSummary
from seepage.results.updates import UpdatesSummary
from seepage.results.vertical import VerticalSummary

_SYMBOLS = {"uniform": "x-thin", "marginal": "square", "prior": "diamond"}
# Coordinates and their headings in the full table, as far as the study has them.
_HEADINGS = {
    "dataset": "Table",
    "protocol": "Protocol",
    "model": "Model",
    "people": "Aligned rows",
    "batch_size": "Batch size",
    "batches": "Batches seen",
    "attack_point": "Attack point",
    "watched": "Rounds joined",
    "attack": "Attack",
    "defense": "Defence",
    "variant": "Variant",
}


@dataclass(frozen=True, kw_only=True)
class Attacks:
    """All settings, in words and drawn.

    Args:
        guesses: what the three guesses are made from, by their names.
        coordinates: those that settings have, and their headings.
    """

    leaks: tuple[Leak, ...]
    guesses: dict[str, str]
    coordinates: dict[str, str]
    figure: Figure | None


def attacks(summary: ReadRows) -> Attacks:
    """What every attack read."""
    leaks = leaks_of(summary)
    guesses = {name: guessed_from(summary.study, name) for name in ("prior", "marginal", "uniform")}
    known = {name for leak in leaks for name in leak.place if name != "variant" or leak.place[name]}
    return Attacks(
        leaks=leaks,
        guesses=guesses,
        coordinates={name: heading for name, heading in _HEADINGS.items() if name in known},
        figure=_figure([leak for leak in leaks if leak.measured], guesses),
    )


def _figure(leaks: Sequence[Leak], guesses: dict[str, str]) -> Figure | None:
    """Share of cells read per setting, with its interval, and what guessing gets."""
    if not leaks:
        return None
    places: list[JsonValue] = list(range(len(leaks)))
    hover: dict[str, JsonValue] = {"hovertemplate": "%{x:.0f} %<extra>%{fullData.name}</extra>", "y": places}
    traces = [
        dots(
            f"guess: {guesses[name].removeprefix('the ')}",
            f"var(--{name})",
            symbol,
            9,
            x=means((leak.result.baselines.get(name) for leak in leaks), 100),
            **hover,
        )
        for name, symbol in _SYMBOLS.items()
    ]
    read = [leak.accuracy for leak in leaks]
    bars = error_bars(read, "var(--attack)", 100)
    traces.append(dots("read by the attack", "var(--attack)", "circle", 11, x=means(read, 100), error_x=bars, **hover))
    # The attack is drawn last, on top, and named first. A narrow screen shows the settings' numbers alone.
    labels: list[JsonValue] = [f"{text(leak.label, LABEL_LENGTH)}   <b>{leak.number}</b>" for leak in leaks]
    short: list[JsonValue] = [f"<b>{leak.number}</b>" for leak in leaks]
    return Figure(
        name="plot-leakage",
        description=f"Dot plot of {words.plural(len(leaks), 'setting')}: the share of cells the attack read, with its "
        "95 % interval, beside three ways of guessing. The table below holds the same numbers.",
        traces=traces,
        x=axis("share of cells right, %", range=[-2, 102], showgrid=True),
        y=named_places(labels),
        height=130 + 34 * len(leaks),
        layout={"legend": {"traceorder": "reversed"}, "meta": {"short": short}},
    )


SECTION: Section[ReadRows] = Section(
    name="attacks",
    title="What each attack read, compared with guessing",
    short="Attacks",
    studies=(RowsSummary, VerticalSummary, UpdatesSummary),
    place=20,
    view=with_truth(attacks),
)
