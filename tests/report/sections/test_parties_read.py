"""What the parties read of each other."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.parties_read import parties_read
from tests.report.example import Reader, a_training_cell, a_training_summary, trainings


def test_every_check_is_named_and_shares_are_percent() -> None:
    view = parties_read(a_training_summary())
    assert view is not None
    assert list(view.checks.values()) == [
        "Guests' cells that the host reads as they are sent",
        "The same, knowing as many rows as columns",
        "The same cells by guessing",
        "Labels that a guest tells by the gradient's size, AUC",
    ]
    assert "TabVFL 38 % 38–38 98 % 98–98 60 % 60–60 0.774 0.770 to 0.778" in Reader(render(a_training_summary())).text


def test_what_was_not_measured_has_no_section() -> None:
    assert parties_read(a_training_summary(trainings(a_training_cell(), 0.8, privacy=False))) is None
