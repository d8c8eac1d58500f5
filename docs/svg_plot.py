"""Small plots as SVG text: the same numbers give the same bytes on every machine, so a test can ask for fresh ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#8a6d00",
    "#56b4e9",
)  # told apart by people who see fewer colours
PUBLISHED = "published"
WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 430, 300, 52, 12, 34, 46
LINE = 17


@dataclass(frozen=True)
class Point:
    """A number with its interval or deviation, if it has one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """Numbers by place on the horizontal axis.

    Args:
        name: the same name has the same colour in all panels.
        published: drawn dashed and hollow.
    """

    name: str
    points: Mapping[str, Point]
    published: bool = False


@dataclass(frozen=True)
class Panel:
    """One plot.

    Args:
        places: values of the horizontal axis, at equal distances.
        top, bottom, step: of the vertical axis; bars begin at zero.
        kind: how the numbers are drawn.
    """

    title: str
    across: str
    up: str
    places: Sequence[str]
    series: Sequence[Series]
    top: float
    step: float
    bottom: float = 0.0
    kind: Literal["lines", "points", "bars"] = "lines"


@dataclass(frozen=True)
class Figure:
    """Panels side by side, with one legend."""

    title: str
    panels: Sequence[Panel]
    colours: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Names of all series, once each."""
        return list(dict.fromkeys(each.name for panel in self.panels for each in panel.series))


def drawn(figure: Figure) -> str:
    """The figure as SVG text."""
    names = figure.names()
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    legend = list(_legend(figure, colours))
    wide, high = WIDE * len(figure.panels), HIGH + LINE * (1 + len(legend)) + 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        'font-family="system-ui, sans-serif" font-size="11" fill="#333">',
        f"<title>{escape(figure.title)}</title>",
        f'<rect width="{wide}" height="{high}" fill="#fff"/>',
    ]
    for number, panel in enumerate(figure.panels):
        parts += _panel(panel, colours, WIDE * number)
    for number, line in enumerate(legend):
        parts.append(f'<g transform="translate({LEFT} {HIGH + LINE * (number + 1)})">{line}</g>')
    return "\n".join([*parts, "</svg>\n"])


def _legend(figure: Figure, colours: Mapping[str, str]) -> Iterator[str]:
    """A line of samples and names, as many to a line as fit."""
    every = {(each.name, each.published) for panel in figure.panels for each in panel.series}
    entries = [(name, published) for name in colours for published in (False, True) if (name, published) in every]
    wide, at, line = WIDE * len(figure.panels) - LEFT - RIGHT, 0.0, ""
    for name, published in entries:
        text = f"{name}, {PUBLISHED}" if published else name
        needs = 40 + 6.2 * len(text)
        if at and at + needs > wide:
            yield line
            at, line = 0.0, ""
        line += _stroke(colours[name], [(at, -4), (at + 22, -4)], published) + _mark(
            colours[name], at + 11, -4, published
        )
        line += f'<text x="{at + 28:.0f}" y="0">{escape(text)}</text>'
        at += needs
    yield line


@dataclass(frozen=True)
class _Frame:
    """Where a panel's numbers lie on the page."""

    panel: Panel
    left: float

    @property
    def gap(self) -> float:
        """From one place of the horizontal axis to the next."""
        return (WIDE - LEFT - RIGHT) / len(self.panel.places)

    def x(self, place: str) -> float:
        return self.left + LEFT + self.gap * (self.panel.places.index(place) + 0.5)

    def y(self, value: float) -> float:
        bottom, top = self.panel.bottom, self.panel.top
        return HIGH - BOTTOM - (HIGH - BOTTOM - TOP) * (min(max(value, bottom), top) - bottom) / (top - bottom)


def _panel(panel: Panel, colours: Mapping[str, str], left: float) -> Iterator[str]:
    frame = _Frame(panel, left)
    yield from _axes(frame)
    for number, series in enumerate(panel.series):
        draw = _bars if panel.kind == "bars" else _spots
        yield from draw(frame, series, number, colours[series.name])


def _axes(frame: _Frame) -> Iterator[str]:
    panel, left = frame.panel, frame.left
    x0, x1, y0 = left + LEFT, left + WIDE - RIGHT, HIGH - BOTTOM
    yield f'<text x="{x0}" y="{TOP - 14}" font-weight="600">{escape(panel.title)}</text>'
    for number in range(math.floor((panel.top - panel.bottom) / panel.step + 1e-9) + 1):
        value = panel.bottom + panel.step * number
        yield f'<path d="M{x0} {frame.y(value):.1f}H{x1}" stroke="#ddd"/>'
        yield f'<text x="{x0 - 5}" y="{frame.y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
    for place in panel.places:
        yield f'<text x="{frame.x(place):.1f}" y="{y0 + 15}" text-anchor="middle">{escape(place)}</text>'
    yield f'<text x="{(x0 + x1) / 2:.1f}" y="{y0 + 34}" text-anchor="middle">{escape(panel.across)}</text>'
    yield (
        f'<text transform="translate({left + 13} {(y0 + TOP) / 2:.1f}) rotate(-90)" text-anchor="middle">'
        f"{escape(panel.up)}</text>"
    )


def _bars(frame: _Frame, series: Series, number: int, colour: str) -> Iterator[str]:
    width = 0.8 * frame.gap / len(frame.panel.series)
    paint = f'fill="#fff" stroke="{colour}" stroke-dasharray="3 2"' if series.published else f'fill="{colour}"'
    for place, point in series.points.items():
        x, y = frame.x(place) - 0.4 * frame.gap + width * number, frame.y(point.value)
        yield f'<rect x="{x + 1:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{frame.y(0) - y:.1f}" {paint}/>'
        yield _number(x + width / 2, y - 3, point.value)


def _spots(frame: _Frame, series: Series, number: int, colour: str) -> Iterator[str]:
    """Marks with their intervals, joined by lines or not."""
    apart = 3.0 if frame.panel.kind == "lines" else 12.0  # intervals of two series do not cover each other
    aside = apart * (number - (len(frame.panel.series) - 1) / 2)
    for place, point in series.points.items():
        if point.low is not None and point.high is not None:
            dash = ' stroke-dasharray="2 2"' if series.published else ""
            path = f"M{frame.x(place) + aside:.1f} {frame.y(point.low):.1f}V{frame.y(point.high):.1f}"
            yield f'<path d="{path}" stroke="{colour}" opacity="0.6"{dash}/>'
    spots = sorted((frame.x(place) + aside, frame.y(point.value)) for place, point in series.points.items())
    if frame.panel.kind == "lines":
        yield _stroke(colour, spots, series.published)
    yield from (_mark(colour, x, y, series.published) for x, y in spots)


def _number(x: float, y: float, value: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="9">{value:.3g}</text>'


def _stroke(colour: str, spots: Sequence[tuple[float, float]], dashed: bool) -> str:
    path = " ".join(f"{'L' if place else 'M'}{x:.1f} {y:.1f}" for place, (x, y) in enumerate(spots))
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>'


def _mark(colour: str, x: float, y: float, hollow: bool) -> str:
    fill = "#fff" if hollow else colour
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{fill}" stroke="{colour}" stroke-width="1.4"/>'
