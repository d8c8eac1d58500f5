"""Defences of the owner of a model: longer training, balanced rows, privacy, noise on what is released."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.data.drawing import rebalance
from seepage.defenses import Defense
from seepage.defenses.balanced import repeated
from seepage.defenses.dp_sgd import epsilon
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_training import first_weights
from seepage.plans.registry import make, parts_of
from seepage.studies.property.making import noisy_steps, trained_rows
from seepage.studies.property.settings import PropertySettings


def named(text: str) -> Defense:
    made: Defense = make("defence", text, "property")
    return made


def test_owners_can_train_longer_or_add_noise() -> None:
    assert named("epochs:3").recipe(Recipe()).epochs == 3
    stack = Stack.cat([first_weights((5, 4, 2), seed) for seed in range(3)])
    noisy = named("weight_noise:0.5").release(stack, Streams(0))
    moved = (noisy.weights[0] - stack.weights[0]).flatten(1).std(1) / stack.weights[0].flatten(1).std(1)
    assert torch.all((moved > 0.2) & (moved < 0.9))
    assert named("none").release(stack, Streams(0)) is stack


def test_dp_sgd_sets_the_recipe_and_counts_its_steps() -> None:
    guard = named("dp_sgd:clip=0.5:noise=2")
    recipe = guard.recipe(Recipe(epochs=3))
    assert (recipe.clip, recipe.noise, recipe.epochs) == (0.5, 2.0, 3)
    rate, steps = noisy_steps(PropertySettings(property_text="x"), recipe, 1000)
    assert (steps, rate) == (48, 0.064)  # 16 batches of 64 in each epoch
    promised = guard.privacy(rate, steps)
    assert promised is not None
    assert promised.epsilon == epsilon(2.0, 0.064, 48, 1e-5)
    assert named("dp_sgd:4").recipe(Recipe()).noise == 4
    assert named("none").privacy(rate, steps) is None


def test_a_client_that_is_seen_in_several_rounds_counts_them_all() -> None:
    sent = PropertySettings(property_text="x", observed="gradient", rounds=2)
    trained = PropertySettings(property_text="x", observed="update", rounds=2)
    assert noisy_steps(sent, Recipe(), 100) == (1.0, 2)
    assert noisy_steps(trained, Recipe(), 100)[1] == 4


def test_balanced_rows_have_the_share_that_was_promised_whatever_there_is() -> None:
    generator = np.random.default_rng(0)
    for having in (10, 30, 50, 90):  # of 100
        holds = generator.permutation(np.arange(100) < having)
        chosen = rebalance(holds, 0.5, 20, np.random.default_rng(1))
        assert holds[chosen].sum() == 10
        assert len(set(chosen.tolist())) == 20  # nobody twice


def test_too_few_rows_are_repeated_evenly_and_none_cannot_be() -> None:
    holds = np.arange(100) < 3
    chosen = rebalance(holds, 0.5, 20, np.random.default_rng(1))
    assert sorted(np.bincount(chosen)[:3].tolist()) == [3, 3, 4]
    assert rebalance(holds & False, 0.5, 20, np.random.default_rng(1)).size == 20
    assert holds[rebalance(holds | True, 0.5, 20, np.random.default_rng(1))].size == 20


def test_repetitions_are_counted() -> None:
    shares = torch.tensor([0.03, 0.1, 0.5, 0.9, 0.97])
    assert repeated((0.5, 0.2), shares, 100).tolist() == pytest.approx([7 / 20, 0, 0, 0, 7 / 20])
    assert trained_rows(named("balanced"), 100) == 20
    assert trained_rows(named("none"), 100) == 100


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("ballanced", "Did you mean 'balanced'"),
        ("balanced:0", "share of balanced rows is 0; it must lie between 0 and 1"),
        ("balanced:keep=2", "keeps 2 of the rows; it must be above 0 and at most 1"),
        ("balanced:part=0.1", "Unknown option of defence 'balanced' 'part'"),
        ("dp_sgd:noise=much", "must be of type float"),
        ("dp_sgd:clip=0", "clipping norm"),
        ("epochs:0", "at least 1 is needed"),
        ("weight_noise:inf", "must be a finite number"),
        ("top_k:0.1", "The defence 'top_k' works in the study rows and vertical; this is the study property"),
    ],
)
def test_bad_input_is_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        named(spec)


def test_every_defence_has_a_line_about_it_and_says_where_it_works() -> None:
    for part in parts_of("defence"):
        assert part.about.endswith(".")
        assert part.works_on
