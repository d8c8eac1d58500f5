"""How finely the share can be told."""

from __future__ import annotations

import json

from seepage.report import render
from seepage.report.level import Level
from seepage.report.sections.granularity import granularity
from tests.report.example import Reader, a_property_cell, a_property_summary, plain, property_records


def test_every_meta_model_is_a_line() -> None:
    view = granularity(a_property_summary())
    assert view is not None
    assert [(plain(each.label), each.loss, each.result.classes) for each in view.every] == [
        ("no defence", "sor", 2),
        ("no defence", "sor", 4),
        ("no defence", "coral", 4),
        ("weight_noise 0.1", "sor", 4),
    ]
    assert view.every[0].level is Level.LEAKS
    assert view.shares


def test_the_curve_has_a_line_for_each_loss_and_defence_and_guessing() -> None:
    view = granularity(a_property_summary())
    assert view is not None
    assert view.figure is not None
    lines = json.loads(view.figure.data)["data"]
    assert [plain(line["name"]) for line in lines] == [
        "no defence · loss sor", "no defence · loss coral", "weight_noise 0.1 · loss sor", "guessing",
    ]  # fmt: skip
    assert lines[0]["x"] == ["2", "4"]
    assert lines[3]["y"] == [50.0, 25.0]


def test_one_cut_has_no_curve() -> None:
    view = granularity(a_property_summary(property_records(a_property_cell(), 0.5)))
    assert view is not None
    assert view.figure is None


def test_two_steps_are_explained() -> None:
    one = Reader(render(a_property_summary())).text
    two = Reader(render(a_property_summary(property_records(a_property_cell(hierarchy="2x2"), 0.5)))).text
    assert "names the range in two steps" in two
    assert "names the range in two steps" not in one
    assert "sor 2x2" in two
