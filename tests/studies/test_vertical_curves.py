"""Vertical gradients: what had been read after so many batches, pictures behind convolutions, settings that matter."""

from __future__ import annotations

from pathlib import Path

import pytest

import seepage
from seepage._core import InputError
from seepage.data import clinic
from seepage.results.vertical import VerticalSummary
from tests.reproductions.tables import digits

SMALL = {"study": "vertical", "people": 60, "batch_sizes": (5,), "trials": 2}


def audited(data: object = "clinic", **settings: object) -> VerticalSummary:
    summary = seepage.audit(data, **(SMALL | settings))
    assert isinstance(summary, VerticalSummary)
    return summary


def test_more_is_read_from_more_batches_and_nothing_before_they_suffice() -> None:
    summary = audited(watch=(20, 66), attacks=("cafe", "cafe_closed_form"))
    descent, closed = summary.cells
    first, last = (point.psnr for point in descent.curve)
    assert first is not None
    assert last is not None
    assert last.mean > first.mean
    assert last == descent.metrics["psnr"]
    assert [point.batches for point in closed.curve] == [20, 66]
    assert closed.curve[0].psnr is None  # 20 batches cannot tell 60 people apart
    assert closed.metrics["correlation"].mean > 0.999  # type: ignore[union-attr]


def test_a_curve_follows_the_training() -> None:
    (cell,) = audited(watch=(1, 60), moving=True, learning_rate=0.5, attacks=("cafe",)).cells
    begin, end = cell.curve
    assert begin.train_loss is not None
    assert end.train_loss is not None
    assert end.train_loss.mean < begin.train_loss.mean
    assert end.test_accuracy is not None
    assert 0 <= end.test_accuracy.mean <= 1


def test_a_table_without_other_people_has_no_test_accuracy() -> None:
    frame = clinic(rows=1000)
    everybody = {"people": 1000, "batch_sizes": (50,), "trials": 1, "batches": 20, "watch": (10,)}
    (cell,) = audited(frame, target="died", attacks=("cafe",), **everybody).cells
    assert cell.curve[0].test_accuracy is None
    assert cell.curve[0].train_loss is not None


def test_pictures_are_read_behind_the_workers_convolutions(tmp_path: Path) -> None:
    settings = {"path": digits(tmp_path, 40), "numbers": "none", "people": 30, "trials": 1, "batches": 60}
    for cell in audited("mnist_5k", **settings, models=("quadrants:width=32",)).cells:
        assert cell.outcome == "ok"
        assert cell.metrics["psnr"].mean > 40  # type: ignore[union-attr]
        assert "behind the workers' local parts" in cell.notes[0]


def test_pictures_are_read_while_the_model_trains(tmp_path: Path) -> None:
    settings = {"path": digits(tmp_path, 40), "numbers": "none", "people": 20, "trials": 1, "batches": 60}
    moving = {"moving": True, "optimiser": "adam", "learning_rate": 1e-3, "attacks": ("spans",)}
    (cell,) = audited("mnist_5k", **settings, **moving, models=("quadrants:width=32",)).cells
    assert cell.metrics["psnr"].mean > 30  # type: ignore[union-attr]
    assert cell.rows_certified


def test_a_layer_that_sees_a_row_in_parts_is_not_read_behind() -> None:
    for cell in audited(models=("ft_transformer",), people=20, trials=1).cells:
        assert (cell.outcome, cell.failed) == ("not_applicable", 1)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"watch": (10, 5)}, "rising numbers"),
        ({"watch": (10, 67)}, "the server sees only 66 batches"),
        ({"learning_rate": 0.1}, "belongs to a model that trains"),
        ({"optimiser": "adam"}, "belongs to a model that trains"),
    ],
)
def test_settings_without_an_effect_are_mistakes(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        audited(**settings)


def test_losses_of_defences_stand_at_the_batches_that_are_watched() -> None:
    summary = audited(defenses=("none", "gaussian_noise:0.1"), watch=(30, 66), learning_rate=0.1, trials=1)
    assert [[batches for batches, _ in entry.points] for entry in summary.losses] == [[0, 30, 66]] * 2
