from __future__ import annotations

import time

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from seepage._core import InputError
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_training import first_weights, gradient_stack, train_stack
from tests.models.test_stacked_training import assert_same, plain, rows_of, table


def private_loop(recipe: Recipe, whole: Encoded, rows: Tensor, start: Stack) -> torch.nn.Sequential:
    """DP-SGD without noise as it is defined: every row's own gradient, clipped, summed."""
    assert recipe.clip is not None
    net = plain(recipe, whole, [], start)
    optimiser = torch.optim.Adam(net.parameters(), lr=recipe.rate)
    x = whole.dense()

    def loss(parameters: dict[str, Tensor], row: Tensor, label: Tensor) -> Tensor:
        return torch.nn.functional.nll_loss(functional_call(net, parameters, (row[None],)), label[None])

    for batch in torch.split(rows, recipe.batch_size):
        parameters = {name: value.detach() for name, value in net.named_parameters()}
        each = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x[batch], whole.labels[batch])
        norms = torch.stack([value.flatten(1).norm(dim=1) for value in each.values()]).norm(dim=0)
        factors = (recipe.clip / (norms + 1e-6)).clamp(max=1)
        assert (factors < 1).any()  # otherwise the test tests nothing
        for name, parameter in net.named_parameters():
            parameter.grad = torch.tensordot(factors, each[name], dims=1) / len(batch)
        optimiser.step()
    return net


@pytest.mark.parametrize(
    ("recipe", "whole"),
    [
        (Recipe(clip=0.5), table()),
        (Recipe(hidden=(5,), batch_size=300, rate=0.01, clip=1.0), table(classes=3)),
        (Recipe(hidden=(6, 3), slope=0.2, batch_size=7, clip=0.1), table(sizes=())),
        (Recipe(hidden=(6, 3), batch_size=1000, clip=0.3), table(numeric=0)),
    ],
    ids=["the thesis", "one hidden layer, three classes", "numbers only", "categories only, one batch"],
)
def test_clipped_models_are_those_of_explicit_gradients_of_rows(recipe: Recipe, whole: Encoded) -> None:
    rows = rows_of(2, 150, whole)  # the last batch is incomplete
    trained = train_stack(recipe, whole, rows, [4, 5])
    for model, seed in enumerate([4, 5]):
        start = first_weights(trained.widths, seed)
        assert_same(trained, model, private_loop(recipe, whole, rows[model], start), within=1e-5)


def test_a_clipped_gradient_is_no_longer_than_the_clip_and_noise_comes_once() -> None:
    whole = table()
    rows = rows_of(2, 100, whole)
    start = Stack.cat([first_weights((whole.width, 8, 2), seed) for seed in range(2)])
    sent = {}
    for name, recipe in {
        "free": Recipe(hidden=(8,)),
        "clipped": Recipe(hidden=(8,), clip=0.01),
        "noisy": Recipe(hidden=(8,), clip=0.01, noise=3.0),
    }.items():
        sent[name] = gradient_stack(recipe, whole, rows, [1, 2], start=start)
    lengths = {
        name: torch.cat([each.flatten(1) for each in (*stack.weights, *stack.biases)], 1).norm(dim=1)
        for name, stack in sent.items()
    }
    assert (lengths["free"] > 0.02).all()
    assert (lengths["clipped"] <= 0.01 + 1e-6).all()
    noise = torch.cat([(a - b).flatten() for a, b in zip(sent["noisy"].weights, sent["clipped"].weights, strict=True)])
    assert noise.std() == pytest.approx(3 * 0.01 / 100, rel=0.15)


def test_a_wide_clip_changes_nothing() -> None:
    whole = table()
    rows = rows_of(2, 100, whole)
    free, wide = (train_stack(Recipe(clip=clip), whole, rows, [1, 2]) for clip in (None, 1e6))
    for one, other in zip((*free.weights, *free.biases), (*wide.weights, *wide.biases), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def test_noise_has_the_deviation_that_was_asked_for() -> None:
    """One step of Adam hides the size of a gradient, so its first mean is looked at through the second step."""
    from seepage.models.stacked_privacy import Noise

    parameters = [torch.zeros(3, 40, 50), torch.zeros(3, 30, 1)]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    noise = Noise([7, 8, 9], parameters)
    noise.add(0.25)
    first = parameters[0].grad.clone()
    assert first.mean().abs() < 0.02
    assert first.std() == pytest.approx(0.25, rel=0.05)
    assert parameters[1].grad.std() == pytest.approx(0.25, rel=0.2)
    assert not torch.equal(first[0], first[1])
    noise.add(0.25)
    step = parameters[0].grad - first
    assert abs(float(torch.corrcoef(torch.stack([step.flatten(), first.flatten()]))[0, 1])) < 0.05
    again = [torch.zeros(1, 40, 50), torch.zeros(1, 30, 1)]
    for parameter in again:
        parameter.grad = torch.zeros_like(parameter)
    Noise([8], again).add(0.25)
    assert again[0].grad is not None
    assert torch.equal(again[0].grad[0], first[1])  # a model's noise is its seed's


def test_noisy_models_do_not_depend_on_their_neighbours() -> None:
    whole, recipe = table(100), Recipe(hidden=(8, 4), batch_size=16, clip=1.0, noise=2.0, epochs=2)
    rows = rows_of(4, 40, whole)
    alone = train_stack(recipe, whole, rows, range(4), chunk=1)
    beside = train_stack(recipe, whole, rows, range(4), chunk=3)
    quiet = train_stack(Recipe(hidden=(8, 4), batch_size=16, clip=1.0, epochs=2), whole, rows, range(4))
    for one, other, still in zip(alone.weights, beside.weights, quiet.weights, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
        assert (one - still).abs().max() > 1e-3


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="clipping norm is 0; it must be above 0"):
        Recipe(clip=0.0)
    with pytest.raises(InputError, match="noise multiplier is -1; it must be 0 or above"):
        Recipe(clip=1.0, noise=-1.0)
    with pytest.raises(InputError, match="noise needs a clipping norm"):
        Recipe(noise=1.0)


@pytest.mark.slow
def test_clipping_is_cheap() -> None:
    whole = table(3000, sizes=(40, 30, 20, 10), numeric=8)
    rows = rows_of(64, 2000, whole)
    took = {}
    for name, recipe in (("free", Recipe()), ("clipped", Recipe(clip=1.0))):
        begin = time.perf_counter()
        train_stack(recipe, whole, rows, range(64))
        took[name] = time.perf_counter() - begin
    assert took["clipped"] < 3 * took["free"]
