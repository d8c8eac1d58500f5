"""Figures as JSON for the page."""

from __future__ import annotations

import json

from seepage.report.figure import Figure, curve, error_bars, numbers, text
from seepage.results import Interval
from tests.report.example import HOSTILE


def a_figure(name: str) -> Figure:
    trace = curve(name, 0, [0, 1], numbers([0.5, float("nan")]))
    return Figure(name="plot-x", description="x", traces=[trace], x={}, y={}, height=100)


def test_the_data_cannot_leave_its_script() -> None:
    data = a_figure(HOSTILE).data
    assert not set("<>&") & set(data)
    label = json.loads(data)["data"][0]["name"]
    assert "<" not in label  # plotly reads a small HTML in its labels
    assert label.startswith("&lt;/script&gt;")


def test_what_is_no_number_is_not_drawn() -> None:
    assert json.loads(a_figure("x").data)["data"][0]["y"] == [0.5, None]
    assert numbers([None, float("inf"), 0.25], 100) == [None, None, 25.0]


def test_error_bars_reach_to_the_ends_and_a_lone_trial_has_none() -> None:
    bars = error_bars([Interval(0.5, 0.25, 1.0), Interval(0.5, None, None), None], "var(--ink)", 100)
    assert (bars["arrayminus"], bars["array"]) == ([25.0, None, None], [50.0, None, None])


def test_colours_are_those_of_the_page() -> None:
    trace = json.loads(a_figure("x").data)["data"][0]
    assert trace["line"]["color"] == trace["marker"]["color"] == "var(--line-1)"


def test_long_labels_are_shortened_before_they_are_escaped() -> None:
    assert text("<" * 50, 11) == "&lt;" * 7 + "…" + "&lt;" * 3
