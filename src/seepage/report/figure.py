"""Figures for the page: traces and axes as plain JSON, drawn there by plotly's basic bundle (scatter, bar, pie).

A colour is named by its variable in report.css (``var(--attack)``), so a figure follows the page into dark mode and
onto paper; fonts, margins and the look of axes are in report.js. Text that came from a table (column names) is escaped,
since plotly reads a small HTML in its labels.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup
from pydantic import JsonValue

from seepage.report import words
from seepage.results import Interval

LABEL_LENGTH = 44
LINES = 8  # colours of lines in report.css
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
Json = dict[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: its parts, what a screen reader says of it, and the room it needs in pixels."""

    name: str
    description: str
    traces: Sequence[Json]
    x: Json
    y: Json
    height: int
    width: int = 280
    layout: Json = field(default_factory=dict)

    @property
    def data(self) -> Markup:
        """The JSON that report.js reads."""
        layout: Json = {"xaxis": self.x, "yaxis": self.y, "showlegend": len(self.traces) > 1, **self.layout}
        return script_data({"data": list(self.traces), "layout": layout})


def script_data(value: JsonValue) -> Markup:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def line_color(number: int) -> str:
    """The colour of a line."""
    return f"var(--line-{number % LINES + 1})"


def line_symbol(number: int) -> str:
    """The marker of a line: lines can be told apart without colours."""
    return _SYMBOLS[number % len(_SYMBOLS)]


def numbers(values: Iterable[float | None], scale: float = 1.0) -> list[JsonValue]:
    """Numbers for a trace; nothing is drawn where there is none."""
    return [None if value is None or not math.isfinite(value) else scale * value for value in values]


def means(values: Iterable[Interval | None], scale: float = 1.0) -> list[JsonValue]:
    """The means of intervals for a trace."""
    return numbers((None if value is None else value.mean for value in values), scale)


def error_bars(values: Sequence[Interval | None], color: str, scale: float = 1.0) -> Json:
    """Error bars that need not be symmetric; a lone trial has none."""
    ends = [
        (v.mean - v.low, v.high - v.mean) if v and v.low is not None and v.high is not None else (None, None)
        for v in values
    ]
    return {
        "type": "data",
        "symmetric": False,
        "arrayminus": numbers((None if low is None else max(low, 0.0) for low, _ in ends), scale),
        "array": numbers((None if high is None else max(high, 0.0) for _, high in ends), scale),
        "color": color,
        "thickness": 2,
        "width": 5,
    }


def text(words_: str, length: int) -> str:
    """A label: short enough, and without any HTML in it."""
    return html.escape(words.shortened(words_, length), quote=False)


def texts(every: Iterable[str], length: int) -> list[JsonValue]:
    """Several labels."""
    return [text(each, length) for each in every]


def axis(title: str, **more: JsonValue) -> Json:
    """An axis; one with ``showgrid`` has lines to read numbers by."""
    return {"title": {"text": text(title, 90)}, **more}


def named_places(labels: Sequence[JsonValue], **more: JsonValue) -> Json:
    """An upright axis of names, the first on top."""
    places: list[JsonValue] = list(range(len(labels)))
    return {"tickvals": places, "ticktext": list(labels), "range": [len(labels) - 0.5, -0.5], **more}


def curve(name: str, number: int, x: Sequence[JsonValue], y: Sequence[JsonValue], **more: JsonValue) -> Json:
    """A line with markers."""
    color = line_color(number)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": text(name, LABEL_LENGTH),
        "x": list(x),
        "y": list(y),
        "line": {"width": 2, "color": color},
        "marker": {"size": 9, "color": color, "symbol": line_symbol(number)},
        "cliponaxis": False,
        **more,
    }


def dotted(name: str, x: Sequence[JsonValue], y: Sequence[JsonValue], **more: JsonValue) -> Json:
    """A dotted line to compare with."""
    line: Json = {"dash": "dot", "width": 2, "color": "var(--muted)"}
    return {"type": "scatter", "mode": "lines", "name": name, "x": list(x), "y": list(y), "line": line, **more}


def dots(name: str, color: str, symbol: str, size: int, **more: JsonValue) -> Json:
    """Markers without a line."""
    marker: Json = {"symbol": symbol, "size": size, "color": color, "line": {"width": 2, "color": color}}
    return {"type": "scatter", "mode": "markers", "name": name, "marker": marker, "cliponaxis": False, **more}
