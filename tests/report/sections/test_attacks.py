"""What each attack read."""

from __future__ import annotations

import json

from seepage.report import render
from seepage.report.sections.attacks import attacks
from tests.report.example import Reader, a_cell, a_summary, a_vertical_summary, records_of


def test_the_figure_has_the_attack_and_three_guesses() -> None:
    view = attacks(a_summary())
    assert view.figure is not None
    figure = json.loads(view.figure.data)
    assert [trace["name"] for trace in figure["data"]] == [
        "guess: nothing but each column's range",
        "guess: columns of the whole data set",
        "guess: clients' own averages",
        "read by the attack",
    ]
    assert len(figure["data"][3]["x"]) == 10  # two of twelve settings were not measured
    assert figure["layout"]["meta"]["short"][0] == "<b>1</b>"


def test_all_coordinates_that_the_study_has_are_told() -> None:
    assert "protocol" in attacks(a_summary()).coordinates
    assert "variant" not in attacks(a_summary()).coordinates
    vertical = attacks(a_vertical_summary()).coordinates
    assert {"people", "batches"} <= set(vertical)
    assert "protocol" not in vertical


def test_a_setting_that_failed_says_how() -> None:
    text = Reader(
        render(a_summary([*records_of(a_cell(), outcome="diverged"), *records_of(a_cell(batch_size=1))]))
    ).text
    assert "not measured: every attack ended as “diverged”" in text
    assert "10 (10 not scored)" in text
