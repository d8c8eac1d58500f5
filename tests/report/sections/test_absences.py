"""What absent guests cost."""

from __future__ import annotations

import json

from seepage.report.sections.absences import absences
from tests.report.example import a_training_cell, a_training_summary, plain, trainings


def test_absences_stand_beside_trainings_in_which_nobody_was_absent() -> None:
    view = absences(a_training_summary())
    assert view is not None
    assert [plain(training.label) for training in view.trainings] == ["TabVFL, cache at 50 % absent"]
    assert view.figure is not None
    assert [trace["name"] for trace in json.loads(view.figure.data)["data"]] == [
        "TabVFL, cache", "TabVFL, nobody absent",
    ]  # fmt: skip


def test_without_absences_there_is_no_section() -> None:
    assert absences(a_training_summary(trainings(a_training_cell(), 0.8))) is None
