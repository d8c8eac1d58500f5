"""How well scores tell labels."""

from __future__ import annotations

import numpy as np
import pytest

from seepage._core import InputError, Streams
from seepage.metrics import label_leak_auc
from seepage.metrics.label_scores import label_auc

LABELS = Streams(0).numpy("labels").choice(2, size=200, p=[0.9, 0.1])


def test_two_classes_give_the_auc_of_one_score() -> None:
    score = LABELS + Streams(1).numpy("noise").normal(size=200)
    both = np.stack([-score, score], 1)
    assert label_auc(both, LABELS) == pytest.approx(label_leak_auc(score, LABELS)["auc"])
    assert label_auc(both[:, ::-1], LABELS) == pytest.approx(1 - label_auc(both, LABELS))


def test_all_and_nothing() -> None:
    three = np.arange(30) % 3
    assert label_auc(np.eye(3)[three], three) == 1
    assert label_auc(np.zeros((30, 3)), three) == 0.5


def test_a_class_that_nobody_has_does_not_count() -> None:
    assert label_auc(np.eye(4)[LABELS], LABELS) == 1


@pytest.mark.parametrize(
    ("scores", "labels", "said"),
    [
        (np.zeros(3), np.zeros(3), "do not belong together"),
        (np.zeros((3, 2)), np.zeros(2), "do not belong together"),
        (np.full((2, 2), np.nan), np.array([0, 1]), "not finite"),
        (np.zeros((3, 2)), np.zeros(3), "all rows are of one class"),
    ],
)
def test_mistakes_are_one_sentence(scores: np.ndarray, labels: np.ndarray, said: str) -> None:
    with pytest.raises(InputError, match=said):
        label_auc(scores, labels)
