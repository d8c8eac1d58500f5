"""What it costs to train."""

from __future__ import annotations

from seepage.report.sections.training_cost import training_cost
from tests.report.example import a_training_summary


def test_every_setting_has_epochs_seconds_and_memory() -> None:
    view = training_cost(a_training_summary())
    assert view is not None
    first = view.trainings[0]
    assert [view.shown(first, f"cost/{phase}", "epochs") for phase in view.phases] == ["2", "3"]
    assert (view.shown(first, "cost/pretraining", "seconds"), view.shown(first, "cost", "memory_mb")) == ("4.5", "12")
    assert view.shown(first, "cost", "unknown") == "–"
    assert training_cost(a_training_summary([])) is None
