"""What each defence of vertical learning costs."""

from __future__ import annotations

import json

from seepage.report import render
from seepage.report.sections.losses import losses
from tests.report.example import Reader, a_vertical_summary, plain, vertical_losses


def test_a_line_for_each_defence() -> None:
    view = losses(a_vertical_summary())
    assert view is not None
    assert [plain(line.label) for line in view.lines] == ["no defence", "fake_gradients"]
    assert len(json.loads(view.figure.data)["data"]) == 2
    assert "no defence 0.700 0.378 0.110" in Reader(render(a_vertical_summary())).text


def test_what_else_differs_is_named() -> None:
    both = [vertical_losses("none", 0.1), vertical_losses("none", 0.1, people=30)]
    view = losses(a_vertical_summary(losses=both))
    assert view is not None
    assert [plain(line.label) for line in view.lines] == ["60 rows", "30 rows"]


def test_without_losses_there_is_no_section() -> None:
    assert losses(a_vertical_summary(losses=())) is None
