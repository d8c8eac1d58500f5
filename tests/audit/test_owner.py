"""Defences of the owner of a model, by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from seepage._core import InputError, Streams
from seepage.cli.main import app
from seepage.data.properties import rebalance
from seepage.defenses.dp_sgd import epsilon
from seepage.models.stack import Stack
from seepage.models.stacked_training import Recipe, first_weights
from seepage.studies.property.owner import DEFENSES, Balanced, owner_of


def test_owners_can_train_longer_or_add_noise() -> None:
    assert owner_of("epochs:3", Recipe()).recipe.epochs == 3
    stack = Stack.cat([first_weights((5, 4, 2), seed) for seed in range(3)])
    noisy = owner_of("weight_noise:0.5", Recipe()).released(stack, Streams(0))
    moved = (noisy.weights[0] - stack.weights[0]).flatten(1).std(1) / stack.weights[0].flatten(1).std(1)
    assert torch.all((moved > 0.2) & (moved < 0.9))
    assert owner_of("none", Recipe()).released(stack, Streams(0)) is stack


def test_dp_sgd_sets_the_recipe_and_counts_its_steps() -> None:
    owner = owner_of("dp_sgd:clip=0.5:noise=2", Recipe(epochs=3))
    assert (owner.recipe.clip, owner.recipe.noise, owner.recipe.epochs) == (0.5, 2.0, 3)
    promised = owner.privacy(1000)
    assert promised is not None
    assert (promised.steps, promised.sampling_rate) == (48, 0.064)  # 16 batches of 64 in each epoch
    assert promised.epsilon == epsilon(2.0, 0.064, 48, 1e-5)
    assert owner_of("dp_sgd:4", Recipe()).recipe.noise == 4
    assert owner_of("none", Recipe()).privacy(1000) is None


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
    found = Balanced(keep=0.2).repeated(shares, 100)
    assert found.tolist() == pytest.approx([7 / 20, 0, 0, 0, 7 / 20])
    assert owner_of("balanced", Recipe()).trained_on(100) == 20
    assert owner_of("none", Recipe()).trained_on(100) == 100


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("ballanced", "Did you mean 'balanced'"),
        ("balanced:0", "share of balanced rows is 0; it must lie between 0 and 1"),
        ("balanced:keep=2", "keeps 2 of the rows; it must be above 0 and at most 1"),
        ("balanced:part=0.1", "Unknown option of balanced 'part'"),
        ("dp_sgd:noise=much", "must be of type float"),
        ("dp_sgd:clip=0", "clipping norm"),
        ("epochs", "needs a number, such as epochs:2"),
        ("epochs:0", "must be above 0"),
        ("weight_noise:inf", "must be above 0"),
    ],
)
def test_bad_input_is_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        owner_of(spec, Recipe())


def test_defences_of_owners_are_listed_beside_the_others() -> None:
    shown = json.loads(CliRunner().invoke(app, ["defenses", "list", "--json"], catch_exceptions=False).output)
    names = [fact["name"] for fact in shown]
    assert len(names) == len(set(names))
    assert set(DEFENSES) <= set(names)
    balanced = next(fact for fact in shown if fact["name"] == "balanced")
    assert balanced["options"] == {"share": 0.5, "keep": 0.2}
    assert balanced["needs"] == "--attacks property"


def test_every_defence_has_a_line_about_it() -> None:
    assert all(line.endswith(".") for line in DEFENSES.values())
