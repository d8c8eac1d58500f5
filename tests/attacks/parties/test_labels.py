"""Attacks of a guest on the host's labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seepage._core import InputError, NotApplicable, Streams
from seepage.attacks.parties import (
    GradientClusters,
    GradientCompletion,
    GradientDirection,
    GradientNorm,
    ModelCompletion,
)
from seepage.metrics.label_scores import label_auc
from tests.attacks.parties.scenes import claim_of, gradients, guest_scene

RARE = (Streams(0).numpy("labels").random(300) < 0.2).astype(int)
THREE = Streams(1).numpy("labels").choice(3, size=300, p=[0.6, 0.3, 0.1])


@pytest.mark.parametrize("attack", [GradientNorm(), GradientDirection(), GradientClusters(), GradientCompletion()])
def test_gradients_of_a_linear_head_give_two_classes_away(attack: GradientNorm) -> None:
    scene = guest_scene(RARE)
    claim = claim_of(attack, scene, gradients(RARE))
    assert label_auc(claim.label_scores, RARE) > 0.95
    alone = attack.alone(scene, Streams(2)).label_scores  # its own columns are noise
    assert alone is not None
    assert abs(label_auc(alone, RARE) - 0.5) < 0.15


@pytest.mark.parametrize("attack", [GradientClusters(), GradientCompletion()])
def test_and_three_classes(attack: GradientClusters) -> None:
    assert label_auc(claim_of(attack, guest_scene(THREE), gradients(THREE)).label_scores, THREE) > 0.9


@pytest.mark.parametrize("attack", [GradientNorm(), GradientDirection()])
def test_one_score_tells_only_two_classes_apart(attack: GradientNorm) -> None:
    with pytest.raises(NotApplicable, match="There are 3 classes"):
        attack.start(guest_scene(THREE), Streams(0))


def test_a_completed_model_reads_no_more_than_the_columns_where_the_part_learnt_nothing() -> None:
    own = np.stack([RARE + 0.1 * Streams(3).numpy("x").normal(size=300), np.ones(300)], 1)
    scene = guest_scene(RARE, own=own)
    claim, alone = claim_of(ModelCompletion(), scene, []), ModelCompletion().alone(scene, Streams(8))
    assert label_auc(claim.label_scores, RARE) > 0.95
    assert alone.label_scores is not None
    assert label_auc(alone.label_scores, RARE) > 0.95


def test_self_training_keeps_what_is_known() -> None:
    own = np.stack([RARE + 0.3 * Streams(3).numpy("x").normal(size=300)], 1)
    claim = claim_of(ModelCompletion(rounds=3), guest_scene(RARE, own=own, known=3), [])
    assert label_auc(claim.label_scores, RARE) > 0.9


def test_only_rows_with_gradients_are_claimed() -> None:
    seen = [each for each in gradients(RARE) if 299 not in each.rows]  # the first batch of every epoch
    claim = claim_of(GradientNorm(), guest_scene(RARE), seen)
    assert claim.determined.sum() == len(seen[0].rows)
    with pytest.raises(NotApplicable, match="got no gradient"):
        claim_of(GradientCompletion(), guest_scene(RARE[::-1].copy(), known=100), seen)


def test_batches_of_other_sizes_are_made_alike() -> None:
    first = gradients(RARE, epochs=1)
    lengths = [np.linalg.norm(each.values, axis=1).mean() for each in first]
    assert lengths[0] > 1.5 * lengths[1]  # the mean loss of a smaller batch
    scores = claim_of(GradientNorm(), guest_scene(RARE), first).label_scores[:, 1]
    small = np.isin(np.arange(300), first[0].rows)
    assert abs(scores[small].mean() - scores[~small].mean()) < 0.3


def test_without_labels_of_every_class_nothing_is_completed() -> None:
    scene = guest_scene(RARE)
    half = replace(scene, known_rows=scene.known_rows[:1], known_labels=scene.known_labels[:1])
    with pytest.raises(NotApplicable, match="a label of every class"):
        claim_of(ModelCompletion(), half, [])


def test_settings_that_cannot_be_are_one_sentence() -> None:
    for wrong in (
        lambda: GradientNorm(epochs=0),
        lambda: GradientCompletion(dimensions=0),
        lambda: ModelCompletion(rounds=-1),
    ):
        with pytest.raises(InputError):
            wrong()
