"""What crosses between the parties."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.crossing import crossing
from tests.report.example import Reader, a_training_cell, a_training_summary, trainings


def test_bytes_are_those_of_one_epoch() -> None:
    view = crossing(a_training_summary(trainings(a_training_cell(), 0.8)))
    assert view is not None
    pretraining, finetuning = view.every
    assert (pretraining.phase, pretraining.kinds) == (
        "pretraining",
        {"gradients": 1.2e6, "intermediate results": 1.8e6},
    )
    assert finetuning.total == 2e6
    assert "TabVFL pretraining 3 MB 1.2 MB 1.8 MB" in Reader(render(a_training_summary())).text


def test_a_central_model_is_called_no_federation() -> None:
    view = crossing(a_training_summary())
    assert view is not None
    assert view.central == ("central TabNet (CT)",)
    assert "central TabNet (CT)" not in {line.label for line in view.every}
