"""The page's figures, each in a light and a dark dress.

A figure is handed to the page as JSON and drawn there by the inlined plotly.js. Text that came from a table
(column names) is escaped, since plotly reads a small HTML in its labels.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from seepage.report import words
from seepage.report.gather import ColumnView, Page
from seepage.report.recovery import RecoveryView
from seepage.report.trends import Trend
from seepage.report.trust import TrustGroup
from seepage.report.utility import UtilityView
from seepage.report.verdict import Leak
from seepage.results import Interval

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
LABEL_LENGTH = 44
COLUMN_LENGTH = 30
WRITTEN_SETTINGS = 24  # with more, a number no longer fits into its field of the heat map
PRINTED_COLUMNS = 60  # a taller heat map does not fit on a page; its table is printed instead


@dataclass(frozen=True)
class Palette:
    """Colours of one dress; the same hues as in report.css."""

    ink: str
    muted: str
    grid: str
    surface: str
    attack: str
    guesses: dict[str, str]
    lines: tuple[str, ...]
    heat: tuple[str, str, str]


LIGHT = Palette(
    ink="#1d2733",
    muted="#55606e",
    grid="#e3e7ec",
    surface="#ffffff",
    attack="#b4371d",
    guesses={"prior": "#1c5d99", "marginal": "#6a4c93", "uniform": "#6b7480"},
    lines=("#b4371d", "#1c5d99", "#2f7d4f", "#8a5a00", "#6a4c93", "#0f7c8a", "#a3316f", "#4d5866"),
    heat=("#7fb0dc", "#f3f1ec", "#e58a70"),
)
DARK = Palette(
    ink="#e4e9ef",
    muted="#a5b0bd",
    grid="#2e3844",
    surface="#171d25",
    attack="#ff8a6b",
    guesses={"prior": "#7db8f0", "marginal": "#c3a6ee", "uniform": "#a9b2bd"},
    lines=("#ff8a6b", "#7db8f0", "#7fd0a0", "#e3b45c", "#c3a6ee", "#63cbd8", "#f29bc9", "#b8c1cc"),
    heat=("#2f6aa6", "#232b35", "#a8452b"),
)
_SYMBOLS = {"prior": "diamond", "marginal": "square", "uniform": "x-thin"}
_LINE_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")


@dataclass(frozen=True)
class Plot:
    """A figure for the page: its data as JSON, what a screen reader says of it, and the room it needs."""

    id: str
    description: str
    data: Markup
    height: int
    width: int
    printed: bool = True
    scale: int | None = None


def leakage(leaks: Sequence[Leak]) -> Plot | None:
    """Share of cells read per setting, with its interval, and what guessing gets."""
    measured = [leak for leak in leaks if leak.measured]
    if not measured:
        return None
    height = 130 + 34 * len(measured)
    description = (
        f"Dot plot of {words.plural(len(measured), 'setting')}: the share of cells the attack read, with its "
        "95 % interval, beside three ways of guessing. The table below holds the same numbers."
    )
    return drawn("plot-leakage", description, lambda palette: _leakage(measured, palette, height), height, 280)


def _leakage(leaks: Sequence[Leak], palette: Palette, height: int) -> go.Figure:
    places = list(range(len(leaks)))
    figure = go.Figure()
    for name in ("uniform", "marginal", "prior"):
        shares = [leak.baselines[name] for leak in leaks]
        color = palette.guesses[name]
        figure.add_scatter(
            x=[100 * share.mean if share else None for share in shares],
            y=places,
            mode="markers",
            name=f"guess: {words.GUESSES[name]}",
            marker={
                "symbol": _SYMBOLS[name],
                "size": 9,
                "color": color,
                "line": {"width": 2, "color": color},
            },
            hovertemplate="%{x:.0f} %<extra>%{fullData.name}</extra>",
        )
    figure.add_scatter(
        x=[100 * leak.accuracy.mean for leak in leaks if leak.accuracy],
        y=places,
        error_x=_error([leak.accuracy for leak in leaks], palette.attack),
        mode="markers",
        name="read by the attack",
        marker={"symbol": "circle", "size": 12, "color": palette.attack},
        hovertemplate="%{x:.0f} %<extra>%{fullData.name}</extra>",
    )
    dress(figure, palette, height)
    # The attack is drawn last, on top, and named first. A narrow screen shows the settings' numbers alone.
    short = [f"<b>{leak.number}</b>" for leak in leaks]
    figure.update_layout(legend={"traceorder": "reversed"}, meta={"short": short})
    figure.update_xaxes(title_text="share of cells right, %", range=[-2, 102], showgrid=True)
    figure.update_yaxes(
        tickvals=places,
        ticktext=[f"{_text(leak.label, LABEL_LENGTH)}   <b>{leak.number}</b>" for leak in leaks],
        range=[len(leaks) - 0.5, -0.5],
    )
    return figure


def columns(views: Sequence[ColumnView], leaks: Sequence[Leak]) -> Plot | None:
    """Heat map of the gain over the prior: columns down, settings across."""
    if not any(view.gain is not None for view in views):
        return None
    height = 80 + 24 * len(views)
    scale = _scale(views)
    description = (
        f"Heat map of {words.plural(len(views), 'column')} and {words.plural(len(leaks), 'setting')}: "
        "how many percentage points more of a column the attack read than a guess from the clients' own averages. "
        "The tables below hold the same numbers."
    )

    def draw(palette: Palette) -> go.Figure:
        return _dress_columns(_columns(views, leaks, palette, scale), views, leaks, palette, height)

    width = 260 + 36 * len(leaks)
    return drawn("plot-columns", description, draw, height, width, printed=len(views) <= PRINTED_COLUMNS, scale=scale)


def _scale(views: Sequence[ColumnView]) -> int:
    """The end of the colour scale: the largest difference, in whole tens of points."""
    largest = max(abs(gain) for view in views for gain in view.gains if gain is not None)
    return max(20, 10 * math.ceil(10 * largest - 1e-9))


def _columns(views: Sequence[ColumnView], leaks: Sequence[Leak], palette: Palette, scale: int) -> go.Figure:
    low, middle, high = palette.heat
    gains = [[None if gain is None else 100 * gain for gain in view.gains] for view in views]
    written = (
        {"texttemplate": "%{z:+.0f}", "textfont": {"size": 12, "color": palette.ink}}
        if len(leaks) <= WRITTEN_SETTINGS
        else {}
    )
    return go.Figure(
        go.Heatmap(
            z=gains,
            x=list(range(len(leaks))),
            y=list(range(len(views))),
            zmin=-scale,
            zmax=scale,
            showscale=False,
            colorscale=[[0, low], [0.5, middle], [1, high]],
            customdata=[[_text(leak.label, 80) for leak in leaks]] * len(views),
            hovertext=[[_text(view.label, 60)] * len(leaks) for view in views],
            hovertemplate="%{hovertext}<br>%{customdata}<br>%{z:+.0f} points<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
            **written,
        )
    )


def _dress_columns(
    figure: go.Figure, views: Sequence[ColumnView], leaks: Sequence[Leak], palette: Palette, height: int
) -> go.Figure:
    dress(figure, palette, height)
    figure.update_layout(margin={"t": 60, "b": 12})
    figure.update_xaxes(
        title_text="setting (numbered as in the table of attacks)",
        side="top",
        tickvals=list(range(len(leaks))),
        ticktext=[str(leak.number) for leak in leaks],
    )
    figure.update_yaxes(
        tickvals=list(range(len(views))),
        ticktext=[_text(("★ " if view.sensitive else "") + view.label, COLUMN_LENGTH) for view in views],
        range=[len(views) - 0.5, -0.5],
    )
    return figure


def trend(view: Trend) -> Plot | None:
    """Share of cells read along one dimension."""
    if not any(value for line in view.series for value in line.values):
        return None
    height = 340 + 18 * len(view.series)
    lines = words.plural(len(view.series), "line")
    description = f"Line plot of the share of cells read against {view.axis}, {lines}. {view.sentence}"
    name = f"plot-{view.dimension.replace('_', '-')}"
    longest = max(len(line) for lines in _ticks(view) for line in lines)
    width = max(280, len(view.ticks) * (8 * longest + 10))  # labels side by side; a narrow screen scrolls
    return drawn(name, description, lambda palette: _trend(view, palette, height), height, width)


def _trend(view: Trend, palette: Palette, height: int) -> go.Figure:
    places = list(range(len(view.ticks)))
    figure = go.Figure()
    drawn = [line for line in view.series if any(line.values)]
    for index, line in enumerate(drawn):
        color = palette.lines[index % len(palette.lines)]
        # Lines stand a little apart: intervals drawn over one another cannot be read.
        shift = 0.04 * (index - (len(drawn) - 1) / 2)
        values = _apart(line.values, view.families)
        figure.add_scatter(
            x=_apart([place + shift for place in places], view.families),
            y=[100 * value.mean if value else None for value in values],
            error_y=_error(values, color),
            mode="lines+markers",
            name=_text(line.name, LABEL_LENGTH),
            line={"width": 2, "color": color},
            marker={"size": 9, "color": color, "symbol": _LINE_SYMBOLS[index % len(_LINE_SYMBOLS)]},
            hovertemplate="%{y:.0f} %<extra>%{fullData.name}</extra>",
        )
    figure.add_scatter(
        x=places,
        y=[None if share is None else 100 * share for share in view.guess],
        mode="lines",
        name="best guess without the update",
        line={"dash": "dot", "width": 2, "color": palette.muted},
        hovertemplate="%{y:.0f} %<extra>%{fullData.name}</extra>",
    )
    dress(figure, palette, height)
    figure.update_yaxes(title_text="share of cells right, %", range=[-2, 102], showgrid=True)
    figure.update_xaxes(
        title_text=view.axis,
        tickvals=places,
        ticktext=["<br>".join(lines) for lines in _ticks(view)],
        ticklabeloverflow="allow",  # plotly would leave out the last one
        range=[-0.4, len(places) - 0.6],
    )
    return figure


def _ticks(view: Trend) -> list[list[str]]:
    """The labels below the axis in short lines: name, options, what stands in brackets."""
    found = []
    for tick, family in zip(view.ticks, view.families, strict=True):
        name, rest = (family, tick[len(family) :]) if family and tick.startswith(family) else ("", tick)
        lines = [name, *rest.replace(", ", ",\n").replace(" (", "\n(").splitlines()]
        found.append([_text(line, 24) for line in lines if line.strip()])
    return found


def _apart(values: Sequence[Any], families: Sequence[str]) -> list[Any]:
    """The values with a gap wherever another family begins: no line joins what has no order."""
    found: list[Any] = []
    for place, value in enumerate(values):
        found += [None] if place and families[place] != families[place - 1] else []
        found.append(value)
    return found


def trust(group: TrustGroup) -> Plot:
    """Share of cells right by the attacker's own doubt about them."""
    height = 120 + 34 * len(group.bars)
    description = (
        f"Bar plot of {words.plural(len(group.bars), 'bar')}: the share of cells right by {group.measure}. "
        f"{group.sentence} The table below holds the same numbers."
    )
    return drawn(f"plot-trust-{group.kind}", description, lambda palette: _trust(group, palette, height), height, 280)


def _trust(group: TrustGroup, palette: Palette, height: int) -> go.Figure:
    places = list(range(len(group.bars)))
    color = palette.guesses["prior"]
    figure = go.Figure()
    figure.add_bar(
        x=[100 * bar.attack.mean for bar in group.bars],
        y=places,
        orientation="h",
        width=0.62,
        name="read by the attack",
        marker={"color": palette.attack},
        error_x=_error([bar.attack for bar in group.bars], palette.ink),
        hovertemplate="%{x:.0f} %<extra>%{fullData.name}</extra>",
    )
    figure.add_scatter(
        x=[100 * bar.prior.mean if bar.prior else None for bar in group.bars],
        y=places,
        mode="markers",
        name="guess of the same cells",
        marker={"symbol": "diamond", "size": 10, "color": color, "line": {"width": 2, "color": palette.surface}},
        hovertemplate="%{x:.0f} %<extra>%{fullData.name}</extra>",
    )
    dress(figure, palette, height)
    figure.update_xaxes(title_text="share of cells right, %", range=[0, 102], showgrid=True)
    figure.update_yaxes(
        tickvals=places,
        ticktext=[f"{bar.label}<br>{words.plural(bar.cells, 'cell')}" for bar in group.bars],
        range=[len(places) - 0.5, -0.5],
    )
    return figure


def utility(view: UtilityView) -> Plot | None:
    """Model quality against leakage, one marker per model and moment."""
    known = [point for point in view.points if point.leak and point.validation.get(view.score or "") is not None]
    if not known:
        return None
    description = (
        f"Scatter plot of {words.plural(len(known), 'point')}: {view.score_title} against the share of cells "
        "read. The table below holds the same numbers."
    )
    return drawn("plot-utility", description, lambda palette: _utility(view, palette, 420), 420, 280)


def _utility(view: UtilityView, palette: Palette, height: int) -> go.Figure:
    figure = go.Figure()
    known = [point for point in view.points if point.leak and point.validation.get(view.score or "") is not None]
    for index, name in enumerate(dict.fromkeys(point.group for point in known)):
        group = [point for point in known if point.group == name]
        color = palette.lines[index % len(palette.lines)]
        figure.add_scatter(
            x=[point.validation[view.score or ""] for point in group],
            y=[100 * point.leak.mean for point in group if point.leak],
            error_y=_error([point.leak for point in group], color),
            mode="markers",
            name=_text(name, LABEL_LENGTH),
            text=[_text(point.label, 80) for point in group],
            marker={"size": 11, "color": color, "symbol": _LINE_SYMBOLS[index % len(_LINE_SYMBOLS)]},
            hovertemplate="%{text}<br>utility %{x:.3f}, cells read %{y:.0f} %<extra></extra>",
        )
    dress(figure, palette, height)
    figure.update_xaxes(title_text=_text(view.score_title, 80), showgrid=True)
    figure.update_yaxes(title_text="share of cells read, %", range=[-2, 102], showgrid=True)
    return figure


def losses(view: RecoveryView | None) -> Plot | None:
    """Training losses with each defence, over the batches seen."""
    if view is None or not view.losses:
        return None
    description = (
        f"Line plot of the training loss over {words.count(view.batches)} batches, one line for each defence: "
        f"{', '.join(each.label for each in view.losses)}. The table below holds the same numbers."
    )
    return drawn("plot-losses", description, lambda palette: _losses(view, palette, 360), 360, 280)


def _losses(view: RecoveryView, palette: Palette, height: int) -> go.Figure:
    figure = go.Figure()
    for index, line in enumerate(view.losses):
        color = palette.lines[index % len(palette.lines)]
        figure.add_scatter(
            x=[seen for seen, _ in line.points],
            y=[loss for _, loss in line.points],
            mode="lines+markers",
            name=_text(line.label, LABEL_LENGTH),
            line={"color": color},
            marker={"size": 8, "color": color, "symbol": _LINE_SYMBOLS[index % len(_LINE_SYMBOLS)]},
            hovertemplate="%{x} batches: loss %{y:.3f}<extra>%{fullData.name}</extra>",
        )
    dress(figure, palette, height)
    figure.update_xaxes(title_text="batches trained on", showgrid=True)
    figure.update_yaxes(title_text="training loss", showgrid=True)
    return figure


def plots_of(page: Page) -> dict[str, Plot | None]:
    """All figures of the page, by the name the template knows them by."""
    drawn: dict[str, Plot | None] = {
        "leakage": leakage(page.leaks),
        "columns": columns(page.columns, page.leaks),
        "utility": utility(page.utility),
        "losses": losses(page.recovery),
    }
    groups = page.trust.groups if page.trust else ()
    drawn |= {f"trust_{group.kind}": trust(group) for group in groups}
    return drawn | {view.dimension: trend(view) for view in page.trends}


def _error(values: Sequence[Interval | None], color: str) -> dict[str, Any]:
    """Error bars that need not be symmetric; a lone batch has none."""
    ends = [
        (v.mean - v.low, v.high - v.mean) if v and v.low is not None and v.high is not None else None for v in values
    ]
    return {
        "type": "data",
        "symmetric": False,
        "arrayminus": [100 * max(end[0], 0.0) if end else None for end in ends],
        "array": [100 * max(end[1], 0.0) if end else None for end in ends],
        "color": color,
        "thickness": 2,
        "width": 5,
    }


def dress(figure: go.Figure, palette: Palette, height: int) -> None:
    """What all figures share: fonts, colours, room, and no controls that a reader does not need."""
    axis = {
        "gridcolor": palette.grid,
        "linecolor": palette.grid,
        "zeroline": False,
        "showgrid": False,
        "automargin": True,
        "fixedrange": True,
        "tickfont": {"color": palette.ink},
        "title": {"font": {"color": palette.muted, "size": 13}, "standoff": 12},
    }
    figure.update_traces(cliponaxis=False, selector={"type": "scatter"})  # dots at 0 and 100 % stay whole
    figure.update_layout(
        template=go.layout.Template(),
        height=height,
        autosize=True,
        font={"family": FONT, "size": 13, "color": palette.ink},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 8, "r": 16, "t": 12, "b": 48},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        hoverlabel={"bgcolor": palette.surface, "bordercolor": palette.muted, "font": {"color": palette.ink}},
        showlegend=len(figure.data) > 1,
        xaxis=axis,
        yaxis=axis,
    )


def _text(text: str, length: int) -> str:
    return html.escape(words.shortened(text, length), quote=False)


def drawn(
    name: str, description: str, draw: Callable[[Palette], go.Figure], height: int, width: int, **more: Any
) -> Plot:
    dresses = {"light": draw(LIGHT).to_plotly_json(), "dark": draw(DARK).to_plotly_json()}
    return Plot(name, description, script_data(dresses), height, width, **more)


def script_data(value: Any) -> Markup:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
