"""A figure as SVG: for notebooks, which run no scripts of ours. The page draws the same figures with plotly.

Only what our figures use is drawn: points and lines with error bars over axes of numbers or of names. Text takes the
colour of what is around it, so that it can be read on a dark page too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Any

from seepage.report.figure import Figure, Json
from seepage.report.templates import read

WIDTH, LINE, LETTER = 720, 18, 6.6  # pixels: of the picture, of a line of text, of a letter
RIGHT, BELOW = 16, 24
TICKS = 5


@dataclass(frozen=True)
class Scale:
    """An axis: where its values lie in pixels, and the ticks it shows."""

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[tuple[float, str], ...]
    title: str

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.begin + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.begin)


def drawn(figure: Figure) -> str:
    """The figure as an SVG element."""
    traces = [trace for trace in figure.traces if trace.get("type") == "scatter"]
    legend = [(_plain(str(trace.get("name", ""))), trace) for trace in traces] if len(traces) > 1 else []
    rows = _rows([name for name, _ in legend])
    top = LINE * len(rows) + 10
    y_ticks = _ticks(figure.y, [value for trace in traces for value in _values(trace, "y", figure.y)])
    left = 14 + LETTER * max((len(text) for _, text in y_ticks[2]), default=0) + (LINE if _title(figure.y) else 0)
    x_ticks = _ticks(figure.x, [value for trace in traces for value in _values(trace, "x", figure.x)])
    lines = max((text.count("\n") + 1 for _, text in x_ticks[2]), default=1)
    bottom = figure.height - BELOW - LINE * lines
    x = Scale(x_ticks[0], x_ticks[1], left, WIDTH - RIGHT, x_ticks[2], _title(figure.x))
    y = Scale(y_ticks[0], y_ticks[1], bottom, top, y_ticks[2], _title(figure.y))
    parts = [*_legend(legend, rows), *_frame(x, y, figure), *(mark for t in traces for mark in _trace(t, x, y, figure))]
    return (
        f'<svg viewBox="0 0 {WIDTH} {figure.height}" role="img" aria-label="{escape(figure.description)}" '
        f'style="max-width: {WIDTH}px; width: 100%" font-family="sans-serif" font-size="12" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _rows(names: Sequence[str]) -> list[list[int]]:
    """The entries of the legend, as many in a row as fit."""
    rows: list[list[int]] = []
    room = 0.0
    for place, name in enumerate(names):
        need = 30 + LETTER * len(name)
        if not rows or room < need:
            rows.append([])
            room = WIDTH
        rows[-1].append(place)
        room -= need
    return rows


def _legend(entries: Sequence[tuple[str, Json]], rows: Sequence[Sequence[int]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        across, down = 10.0, LINE * number + 12
        for place in row:
            name, trace = entries[place]
            yield (
                _mark(across, down - 4, trace) if "markers" in str(trace["mode"]) else _dashes(across, down - 4, trace)
            )
            yield f'<text x="{across + 12:.0f}" y="{down}">{escape(name)}</text>'
            across += 30 + LETTER * len(name)


def _dashes(across: float, down: float, trace: Json) -> str:
    return (
        f'<line x1="{across - 8:.0f}" x2="{across + 8:.0f}" y1="{down}" y2="{down}" stroke="{_colour(trace, "line")}" '
        'stroke-width="2" stroke-dasharray="2 3"/>'
    )


def _frame(x: Scale, y: Scale, figure: Figure) -> Iterator[str]:
    """Ticks, the lines to read numbers by, and the titles of the axes."""
    for value, text in x.ticks:
        across = x.at(value)
        if figure.x.get("showgrid"):
            yield _rule(across, across, y.begin, y.end)
        for number, words in enumerate(text.split("\n")):
            down = y.begin + LINE * (number + 1)
            yield f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="middle">{escape(words)}</text>'
    for value, text in y.ticks:
        down = y.at(value)
        if figure.y.get("showgrid"):
            yield _rule(x.begin, x.end, down, down)
        yield f'<text x="{x.begin - 8:.1f}" y="{down + 4:.1f}" text-anchor="end">{escape(text)}</text>'
    yield (
        f'<text x="{(x.begin + x.end) / 2:.1f}" y="{figure.height - 4}" text-anchor="middle" opacity="0.8">'
        f"{escape(x.title)}</text>"
    )
    if y.title:
        middle = (y.begin + y.end) / 2
        yield (
            f'<text x="12" y="{middle:.1f}" transform="rotate(-90 12 {middle:.1f})" text-anchor="middle" '
            f'opacity="0.8">{escape(y.title)}</text>'
        )


def _rule(x1: float, x2: float, y1: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="currentColor" stroke-opacity="0.15"/>'
    )


def _trace(trace: Json, x: Scale, y: Scale, figure: Figure) -> Iterator[str]:
    """A line, its points and their error bars; nothing where a number is missing."""
    places = [
        (None if across is None else x.at(across), None if down is None else y.at(down))
        for across, down in zip(_values(trace, "x", figure.x), _values(trace, "y", figure.y), strict=True)
    ]
    if "lines" in str(trace["mode"]):
        yield from _joined(places, trace)
    if "markers" not in str(trace["mode"]):
        return
    for number, (across, down) in enumerate(places):
        if across is None or down is None:
            continue
        yield from _error(trace, number, x, y, across, down)
        yield _mark(across, down, trace)


def _joined(places: Sequence[tuple[float | None, float | None]], trace: Json) -> Iterator[str]:
    words: list[str] = []
    begun = False
    for across, down in places:
        if across is None or down is None:
            begun = False
            continue
        words.append(f"{'L' if begun else 'M'}{across:.1f} {down:.1f}")
        begun = True
    dash = ' stroke-dasharray="2 4"' if _held(trace, "line").get("dash") else ""
    yield f'<path d="{" ".join(words)}" fill="none" stroke="{_colour(trace, "line")}" stroke-width="2"{dash}/>'


def _error(trace: Json, number: int, x: Scale, y: Scale, across: float, down: float) -> Iterator[str]:
    """The interval of one number."""
    for name in ("error_x", "error_y"):
        bars: Any = trace.get(name)
        if not bars or bars["array"][number] is None:
            continue
        scale = x if name == "error_x" else y
        unit = (scale.end - scale.begin) / ((scale.high - scale.low) or 1.0)
        low, high = -unit * bars["arrayminus"][number], unit * bars["array"][number]
        x1, x2 = (across + low, across + high) if scale is x else (across, across)
        y1, y2 = (down, down) if scale is x else (down + low, down + high)
        yield (
            f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{_colour(trace, "marker")}" '
            'stroke-width="2"/>'
        )


_SHAPES = {
    "square": "M-4 -4H4V4H-4Z",
    "diamond": "M0 -6L5 0L0 6L-5 0Z",
    "triangle-up": "M0 -5L5 4H-5Z",
    "triangle-down": "M0 5L5 -4H-5Z",
    "cross": "M-5 -2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z",
    "star": "M0 -6L2 -2L6 -2L3 1L4 6L0 3L-4 6L-3 1L-6 -2L-2 -2Z",
    "x": "M-4 -5L0 -1L4 -5L5 -4L1 0L5 4L4 5L0 1L-4 5L-5 4L-1 0L-5 -4Z",
}


def _mark(across: float, down: float, trace: Json) -> str:
    colour = _colour(trace, "marker")
    symbol = str(_held(trace, "marker").get("symbol", "circle")).removesuffix("-thin")
    if symbol not in _SHAPES:
        return f'<circle cx="{across:.1f}" cy="{down:.1f}" r="5" fill="{colour}"/>'
    return f'<path d="{_SHAPES[symbol]}" transform="translate({across:.1f} {down:.1f})" fill="{colour}"/>'


def _colour(trace: Json, part: str) -> str:
    """A colour of report.css by the name of its variable; those of a light page, dark enough for both."""
    name = str(_held(trace, part).get("color", "")).removeprefix("var(").removesuffix(")")
    found = re.search(rf"{re.escape(name)}: (#[0-9a-f]{{6}})", read("report.css")) if name else None
    return found[1] if found else "currentColor"


def _values(trace: Json, name: str, axis: Json) -> list[float | None]:
    """Where the points of a trace lie on an axis; names lie at their number."""
    given: Any = trace[name]
    names: Any = axis.get("categoryarray")
    return [None if value is None else float(names.index(value) if names else value) for value in given]


def _ticks(axis: Json, values: Sequence[float | None]) -> tuple[float, float, tuple[tuple[float, str], ...]]:
    """The ends of an axis, and its ticks with their words."""
    given: Any = axis
    known = [value for value in values if value is not None] or [0.0, 1.0]
    if "categoryarray" in axis:
        names = given["categoryarray"]
        return -0.4, len(names) - 0.6, tuple((float(place), _plain(str(name))) for place, name in enumerate(names))
    spread = (max(known) - min(known)) or 1.0
    low, high = given["range"] if "range" in axis else (min(known) - 0.06 * spread, max(known) + 0.06 * spread)
    if "ticktext" in axis:
        pairs = zip(given["tickvals"], given["ticktext"], strict=True)
        return low, high, tuple((float(place), _plain(str(text))) for place, text in pairs)
    return low, high, round_ticks(low, high)


def round_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Round numbers between two others."""
    step = _step((high - low) / TICKS)
    first, last = math.ceil(low / step), math.floor(high / step)
    return tuple((number * step, f"{number * step:.4g}") for number in range(first, last + 1))


def _step(rough: float) -> float:
    """A round number near this one."""
    power: float = 10.0 ** math.floor(math.log10(rough))
    return power * min((1, 2, 2.5, 5, 10), key=lambda factor: abs(factor * power - rough))


def _title(axis: Json) -> str:
    return _plain(str(_held(axis, "title").get("text", "")))


def _held(part: Json, name: str) -> Json:
    """A part of a part; an empty one where there is none."""
    found = part.get(name)
    return found if isinstance(found, dict) else {}


def _plain(label: str) -> str:
    """A label without the little HTML that plotly reads: line breaks stay, bold does not."""
    return unescape(re.sub("</?b>", "", label.replace("<br>", "\n")))
