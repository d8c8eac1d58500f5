from __future__ import annotations

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.attacks.vertical import direction_score, norm_score
from seepage.metrics import label_leak_auc
from tests.attacks.vertical.guests import clinic_guest, sent

GUEST = clinic_guest(1000)
LABELS = GUEST.table.target.astype(np.int64)


def gradients(labels: np.ndarray, *, hidden: int = 0, steps: int = 50) -> np.ndarray:
    """What the host sends back after some steps of fine-tuning its head."""
    torch.manual_seed(0)
    z, y = torch.tensor(sent(GUEST.x)), torch.tensor(labels, dtype=torch.float32)
    width = z.shape[1]
    head: torch.nn.Module = torch.nn.Linear(width, 1)
    if hidden:
        head = torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
    optimiser = torch.optim.Adam(head.parameters(), 1e-2)
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    for _ in range(steps):
        optimiser.zero_grad()
        loss(head(z)[:, 0], y).backward()
        optimiser.step()
    z.requires_grad_()
    loss(head(z)[:, 0], y).backward()
    assert z.grad is not None
    return z.grad.numpy()


@pytest.mark.parametrize("steps", [0, 50])
def test_a_linear_head_gives_every_label_away_by_direction(steps: int) -> None:
    assert label_leak_auc(direction_score(gradients(LABELS, steps=steps)), LABELS)["auc"] > 0.999


def test_a_deep_head_gives_nearly_every_label_away_by_direction() -> None:
    assert label_leak_auc(direction_score(gradients(LABELS, hidden=32)), LABELS)["auc"] > 0.95


@pytest.mark.parametrize("hidden", [0, 32])
def test_lengths_tell_the_rarer_class_once_the_model_knows_the_frequencies(hidden: int) -> None:
    assert label_leak_auc(norm_score(gradients(LABELS, hidden=hidden, steps=200)), LABELS)["auc"] > 0.9


def test_scores_point_to_the_rarer_class_whatever_it_is_called() -> None:
    renamed = 1 - LABELS
    for score in (direction_score, norm_score):
        assert label_leak_auc(score(gradients(renamed, steps=200)), renamed)["auc"] > 0.9


def test_scores_say_nothing_about_labels_that_made_no_gradient() -> None:
    grads, draw = gradients(LABELS), Streams(0).numpy("labels")
    for score in (direction_score, norm_score):
        # The mean over many other labels: one draw of few positive rows is far from a half now and then.
        found = [label_leak_auc(score(grads), draw.permutation(LABELS))["auc"] for _ in range(40)]
        assert np.mean(found) == pytest.approx(0.5, abs=0.05)


def test_an_example_orients_the_score() -> None:
    grads = gradients(LABELS)
    for label in (0, 1):
        score = direction_score(grads, example=int(np.flatnonzero(label == LABELS)[0]))
        assert (score[label == LABELS] > 0).mean() > 0.99


def test_of_two_equal_sides_the_longer_gradients_are_positive() -> None:
    score = direction_score(np.array([[1.0, 0], [3.0, 0.1], [-1.0, 0], [-1.0, 0]]))
    assert (score > 0).tolist() == [True, True, False, False]


def test_a_row_without_a_gradient_has_no_side() -> None:
    score = direction_score(np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0]]))
    assert score[0] == 0
    assert np.abs(score[1:]) == pytest.approx(1)
    assert (direction_score(np.zeros((3, 2))) == 0).all()


@pytest.mark.parametrize("score", [norm_score, direction_score])
@pytest.mark.parametrize(
    ("values", "sentence"),
    [(np.zeros((0, 2)), "is empty"), (np.zeros(4), "must be a matrix"), (np.full((2, 2), np.nan), "not finite")],
)
def test_bad_gradients_are_one_sentence(score, values: np.ndarray, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=sentence):
        score(values)


def test_an_example_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(InputError, match="from 0 to 2; it is 3"):
        direction_score(np.ones((3, 2)), example=3)
