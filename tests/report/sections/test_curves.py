"""How training went."""

from __future__ import annotations

import json

from seepage.report.sections.curves import curves
from tests.report.example import a_training_summary


def test_the_lowest_loss_and_its_epoch_are_told() -> None:
    view = curves(a_training_summary())
    assert view is not None
    assert view.every[0].label == "TabVFL"
    assert view.every[0].points[0] == (1, 0.6)
    assert view.every[0].best == (3, 0.5)
    assert json.loads(view.figure.data)["data"][0]["x"] == [1, 2, 3]
    assert curves(a_training_summary([])) is None
