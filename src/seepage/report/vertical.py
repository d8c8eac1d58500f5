"""The report of vertical training: latent quality per design, failing guests, cost, what crosses, what leaks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from seepage.report import words
from seepage.report.plots import Palette, Plot, drawn, dress

DESIGNS = {
    "central": "central TabNet (CT)",
    "local": "local TabNets (LT)",
    "local_encoders": "encoders at the guests (TabVFL-LE)",
    "tabvfl": "TabVFL",
    "tabvfl_without_fc": "TabVFL without the square layer",
    "guest_decoders": "TabVFL with decoders at the guests",
}
METRICS = {"accuracy": "accuracy", "f1": "F1", "roc_auc": "ROC-AUC"}
VARIANTS = {"published": "as published", "honest": "rows the encoder never saw"}


@dataclass(frozen=True)
class Group:
    """All runs of one setting."""

    facts: dict[str, Any]
    values: dict[tuple[str, str], dict[str, Any]]

    @property
    def label(self) -> str:
        """The setting in words."""
        parts = [DESIGNS.get(self.facts["design"], self.facts["design"])]
        if self.facts["phases"] != "both":
            parts.append(self.facts["phases"])
        if self.facts["failure_probability"]:
            parts.append(f"{self.facts['failure_method']} at {words.percent(self.facts['failure_probability'])} absent")
        return ", ".join(parts)

    def number(self, scope: str, metric: str) -> dict[str, Any] | None:
        """A mean with its interval; None where nothing could be measured."""
        found = self.values.get((scope, metric))
        return found if found is not None and found["mean"] is not None else None

    def mean(self, scope: str, metric: str) -> float | None:
        """A mean."""
        found = self.number(scope, metric)
        return None if found is None else found["mean"]

    @property
    def runs(self) -> int:
        """How many."""
        return max((value["runs"] for value in self.values.values()), default=0)


@dataclass(frozen=True)
class VerticalPage:
    """What the page shows."""

    title: str
    lead: str
    headline: str
    groups: tuple[Group, ...]
    quality: tuple[Group, ...]
    failures: tuple[Group, ...]
    crossing: tuple[tuple[str, str, tuple[tuple[str, float], ...]], ...]
    privacy: tuple[tuple[str, str, float], ...]
    command: str
    settings: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def gather_vertical(summary: dict[str, Any]) -> VerticalPage:
    """From a summary to the page."""
    groups = tuple(
        Group(
            {key: value for key, value in group.items() if key != "values"},
            {(value["scope"], value["metric"]): value for value in group["values"]},
        )
        for group in summary["groups"]
    )
    data, settings = summary["dataset"], summary["settings"]
    quality = tuple(
        group
        for group in groups
        if not group.facts["failure_probability"] and group.number("quality/honest/mean", "f1")
    )
    failing = tuple(group for group in groups if group.facts["failure_probability"])
    guests = words.plural(settings["guests"], "guest")
    return VerticalPage(
        title=f"Vertical training of {data['name']}",
        lead=f"{data['rows']:,} rows, {data['columns']} columns dealt to {guests}, labels at the host.",
        headline=_headline(quality),
        groups=groups,
        quality=quality,
        failures=failing,
        crossing=tuple(_crossing(group) for group in groups if group in quality or not quality),
        privacy=tuple(_privacy(groups)),
        command=summary.get("command", ""),
        settings=tuple((name, _said(value)) for name, value in settings.items() if value not in (None, [], ())),
        notes=tuple(data.get("notes", ())),
    )


def _said(value: Any) -> str:
    """A setting in words."""
    if isinstance(value, list | tuple):
        return ", ".join("=".join(map(str, each)) if isinstance(each, list | tuple) else str(each) for each in value)
    return str(value)


def plots_of_vertical(page: VerticalPage) -> dict[str, Plot | None]:
    """The figures."""
    return {"quality": _quality_plot(page.quality), "failures": _failure_plot(page), "curves": _curve_plot(page.groups)}


def _headline(groups: Sequence[Group]) -> str:
    said = []
    for group in groups:
        if group.facts["phases"] == "both":
            value = group.mean("quality/honest/mean", "f1")
            said.append(f"{DESIGNS.get(group.facts['design'], group.facts['design'])} {value:.3f}")
    if not said:
        return "Latent quality was not evaluated in this run."
    return "Mean F1 of six predictors on latents of rows the encoder never saw: " + ", ".join(said) + "."


def _crossing(group: Group) -> tuple[str, str, tuple[tuple[str, float], ...]]:
    """What crosses in an epoch, in MB by kind and phase."""
    found: list[tuple[str, float]] = []
    for (scope, metric), value in group.values.items():
        if scope.startswith("bytes/"):
            phase = scope.removeprefix("bytes/")
            epochs = group.mean(f"cost/{phase}", "epochs") or 1
            found.append((f"{phase}: {metric}", value["mean"] / epochs / 1e6))
    return group.label, f"{sum(size for _, size in found):.1f} MB", tuple(found)


def _privacy(groups: Sequence[Group]) -> list[tuple[str, str, float]]:
    return [
        (group.label, f"{scope.removeprefix('privacy/')}: {metric}", value["mean"])
        for group in groups
        for (scope, metric), value in group.values.items()
        if scope.startswith("privacy/")
    ]


def _quality_plot(groups: Sequence[Group]) -> Plot | None:
    if not groups:
        return None
    height = 130 + 40 * len(groups)
    description = (
        "Dot plot of the mean F1 of six predictors on the latents of every design; the table holds the numbers."
    )

    def draw(palette: Palette) -> go.Figure:
        figure = go.Figure()
        places = list(range(len(groups)))
        for number, (variant, label) in enumerate(VARIANTS.items()):
            numbers = [group.number(f"quality/{variant}/mean", "f1") for group in groups]
            figure.add_scatter(
                x=[each["mean"] if each else None for each in numbers],
                y=places,
                mode="markers",
                name=label,
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [
                        each["high"] - each["mean"] if each and each["high"] is not None else 0 for each in numbers
                    ],
                    "arrayminus": [
                        each["mean"] - each["low"] if each and each["low"] is not None else 0 for each in numbers
                    ],
                    "color": palette.lines[number],
                },
                marker={"size": 11, "color": palette.lines[number], "symbol": ("circle", "diamond")[number]},
                hovertemplate="%{x:.3f}<extra>%{fullData.name}</extra>",
            )
        dress(figure, palette, height)
        figure.update_xaxes(title_text="F1, mean of six predictors", showgrid=True)
        labels = [html.escape(group.label) for group in groups]
        figure.update_yaxes(tickvals=places, ticktext=labels, range=[len(groups) - 0.5, -0.5])
        return figure

    return drawn("plot-quality", description, draw, height, 320)


def _failure_plot(page: VerticalPage) -> Plot | None:
    if not page.failures:
        return None
    lines: dict[str, list[tuple[float, dict[str, Any]]]] = {}
    for group in page.failures:
        value = group.number("quality/published/mean", "f1")
        if value:
            name = f"{DESIGNS.get(group.facts['design'], group.facts['design'])}, {group.facts['failure_method']}"
            lines.setdefault(name, []).append((group.facts["failure_probability"], value))
    if not lines:
        return None
    height = 380
    description = "Lines: F1 over the share of guests that are absent in an epoch, for every way to stand in for them."

    def draw(palette: Palette) -> go.Figure:
        figure = go.Figure()
        for number, (name, points) in enumerate(lines.items()):
            points = sorted(points, key=lambda point: point[0])
            figure.add_scatter(
                x=[100 * share for share, _ in points],
                y=[value["mean"] for _, value in points],
                mode="lines+markers",
                name=html.escape(name),
                line={"color": palette.lines[number % len(palette.lines)]},
                marker={"size": 9},
            )
        for group in page.quality:
            value = group.mean("quality/published/mean", "f1")
            if value is not None and group.facts["phases"] == "both":
                figure.add_hline(y=value, line={"dash": "dot", "color": palette.muted})
        dress(figure, palette, height)
        figure.update_xaxes(title_text="guests absent in an epoch, %", showgrid=True)
        figure.update_yaxes(title_text="F1, mean of six predictors", showgrid=True)
        return figure

    return drawn("plot-failures", description, draw, height, 320)


def _curve_plot(groups: Sequence[Group]) -> Plot | None:
    lines: dict[str, list[tuple[int, float]]] = {}
    for group in groups:
        points = [
            (int(scope.rsplit("/", 1)[1]) + 1, value["mean"])
            for (scope, _), value in group.values.items()
            if scope.startswith("epoch/fine-tuning/")
        ]
        if points:
            lines[group.label] = sorted(points)
    if not lines:
        return None
    height = 380
    description = "Lines: cross-entropy on validation rows after every epoch of fine-tuning, mean over the runs."

    def draw(palette: Palette) -> go.Figure:
        figure = go.Figure()
        for number, (name, points) in enumerate(lines.items()):
            color = palette.lines[number % len(palette.lines)]
            figure.add_scatter(
                x=[epoch for epoch, _ in points],
                y=[value for _, value in points],
                mode="lines",
                name=html.escape(name),
                line={"color": color},
            )
        dress(figure, palette, height)
        figure.update_xaxes(title_text="epoch of fine-tuning", showgrid=True)
        figure.update_yaxes(title_text="validation loss", showgrid=True)
        return figure

    return drawn("plot-curves", description, draw, height, 320)
