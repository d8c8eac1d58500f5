"""The frontier as a picture: leakage across, utility upward, an interval on both; a dot tells its numbers on focus.

It is SVG and style alone, without a script: a dot is reached by the pointer and by the Tab key, and paper shows it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from seepage.report.drawing import Scale, round_ticks
from seepage.results import Interval

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 16, 116
ROOM = 0.12  # beside the outermost means, as a share of their distance


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One setting.

    Args:
        number: its line in the table.
        told: its numbers, in words, a line each.
        best: whether no other one is better beyond doubt.
        chosen: whether it is the answer.
        sure: whether the answer was attacked enough to rely on it.
    """

    number: str
    name: str
    told: tuple[str, ...]
    leak: Interval
    utility: Interval
    best: bool
    chosen: bool = False
    sure: bool = True


@dataclass(frozen=True)
class Limit:
    """A line that must not be crossed: ``leak`` to the right of it, or ``utility`` below it."""

    kind: str
    value: float
    words: str


def picture(dots: Sequence[Dot], limits: Sequence[Limit], score: str) -> Markup:
    """An SVG element; empty if there is nothing to draw."""
    if not dots:
        return Markup("")
    wanted = {kind: [limit.value for limit in limits if limit.kind == kind] for kind in ("leak", "utility")}
    x = _scale([100 * dot.leak.mean for dot in dots] + [100 * each for each in wanted["leak"]], LEFT, WIDTH - RIGHT)
    y = _scale([dot.utility.mean for dot in dots] + wanted["utility"], HEIGHT - BOTTOM, TOP)
    ordered = sorted(dots, key=lambda dot: (dot.chosen, dot.best))  # what matters most is drawn last, on top
    parts = [*_axes(x, y, score), *_limits(limits, x, y), *(mark for dot in ordered for mark in _dot(dot, x, y))]
    title = f"Cells read beyond guessing against {score} of {len(dots)} settings; the table below has every number."
    return Markup(
        f'<svg class="frontier" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{escape(title)}">'
        f'<defs><clipPath id="frame"><rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
        f'height="{HEIGHT - TOP - BOTTOM}"/></clipPath></defs>{"".join(parts)}</svg>'
    )


def _scale(values: Sequence[float], begin: float, end: float) -> Scale:
    """An axis for the means: intervals may reach beyond it, and are cut at the frame."""
    spread = (max(values) - min(values)) or 0.1
    low, high = min(values) - ROOM * spread, max(values) + ROOM * spread
    return Scale(low, high, begin, end, round_ticks(low, high), "")


def _axes(x: Scale, y: Scale, score: str) -> Iterator[str]:
    for value, text in x.ticks:
        yield f'<line class="grid" x1="{x.at(value):.1f}" x2="{x.at(value):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        yield _text(x.at(value), HEIGHT - BOTTOM + 18, text, "middle")
    for value, text in y.ticks:
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.at(value):.1f}" y2="{y.at(value):.1f}"/>'
        yield _text(LEFT - 8, y.at(value) + 4, text, "end")
    yield _text(
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 38, "cells read beyond guessing, % (above 0: leaks)", "middle"
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f' transform="rotate(-90 14 {middle:.0f})"'
    yield _text(14, middle, f"{score} (higher is better)", "middle", turned)


def _limits(limits: Sequence[Limit], x: Scale, y: Scale) -> Iterator[str]:
    for limit in limits:
        if limit.kind == "leak":
            at = x.at(100 * limit.value)
            yield f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            yield _text(at + 5, TOP + 12, limit.words, "start", ' class="limit-words"')
        else:
            at = y.at(limit.value)
            yield f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
            yield _text(WIDTH - RIGHT - 4, at + 15, limit.words, "end", ' class="limit-words"')  # plain is above it


def _dot(dot: Dot, x: Scale, y: Scale) -> Iterator[str]:
    across, up = x.at(100 * dot.leak.mean), y.at(dot.utility.mean)
    said = {"best": dot.best, "chosen": dot.chosen, "unsure": dot.chosen and not dot.sure}
    kinds = " ".join(name for name, is_so in said.items() if is_so)
    told = f"{dot.number}. {dot.name}: {', '.join(dot.told)}"
    yield f'<g class="dot {kinds}" tabindex="0" role="img" aria-label="{escape(told)}">'
    yield '<g class="bars" clip-path="url(#frame)">'
    if dot.leak.low is not None and dot.leak.high is not None:
        ends = (x.at(100 * dot.leak.low), x.at(100 * dot.leak.high))
        yield f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{up:.1f}" y2="{up:.1f}"/>'
    if dot.utility.low is not None and dot.utility.high is not None:
        ends = (y.at(dot.utility.low), y.at(dot.utility.high))
        yield f'<line x1="{across:.1f}" x2="{across:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>'
    yield "</g>"
    shape = f'<circle cx="{across:.1f}" cy="{up:.1f}" r="6"/>'
    if dot.chosen:
        shape = f'<path d="M0 -10L10 0L0 10L-10 0Z" transform="translate({across:.1f} {up:.1f})"/>'
    yield shape + _text(across + 9, up - 8, dot.number, "start", ' class="number"')
    yield _text(LEFT, HEIGHT - 50, f"{dot.number}. {dot.name}", "start", ' class="told strong"')
    for place, line in enumerate(dot.told):
        yield _text(LEFT, HEIGHT - 30 + 20 * place, line, "start", ' class="told"')
    yield "</g>"


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'
