"""What the joint model is worth."""

from __future__ import annotations

import json

from seepage.report.sections.quality import quality
from tests.report.example import a_training_cell, a_training_summary, trainings


def test_designs_without_absences_are_shown_in_both_ways() -> None:
    view = quality(a_training_summary())
    assert view is not None
    assert [training.label for training in view.trainings] == [
        "TabVFL",
        "central TabNet (CT)",
        "TabVFL, no pretraining",
    ]
    assert view.predictors == ("XGBoost", "MLP")
    published, honest = json.loads(view.figure.data)["data"]
    assert published["x"][0] > honest["x"][0]  # rows that the encoder has seen flatter it


def test_guests_are_named_where_they_differ() -> None:
    records = [record for guests in (2, 3) for record in trainings(a_training_cell(guests=guests), 0.8)]
    view = quality(a_training_summary(records))
    assert view is not None
    assert [training.label.replace("\u00a0", " ") for training in view.trainings] == [
        "TabVFL, 2 guests", "TabVFL, 3 guests",
    ]  # fmt: skip
