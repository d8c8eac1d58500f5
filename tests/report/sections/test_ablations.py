"""What each part of a design is worth."""

from __future__ import annotations

from seepage.report.sections.ablations import ablations
from tests.report.example import a_training_cell, a_training_summary, trainings


def test_a_phase_left_out_stands_beside_the_complete_training() -> None:
    view = ablations(a_training_summary())
    assert view is not None
    (only,) = view.every
    assert (only.label, only.of, only.change("honest")) == ("TabVFL, no pretraining", "TabVFL", "−0.050")


def test_a_changed_design_stands_beside_the_one_it_changes() -> None:
    records = [*trainings(a_training_cell(), 0.8), *trainings(a_training_cell(design="tabvfl_without_fc"), 0.82)]
    view = ablations(a_training_summary(records))
    assert view is not None
    assert (view.every[0].of, view.every[0].change("published")) == ("TabVFL", "+0.020")


def test_without_the_complete_training_there_is_nothing_to_compare() -> None:
    assert ablations(a_training_summary(trainings(a_training_cell(phases="no pretraining"), 0.8))) is None
    assert ablations(a_training_summary(trainings(a_training_cell(), 0.8))) is None
