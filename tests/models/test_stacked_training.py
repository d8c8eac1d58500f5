from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from seepage._core import InputError, Streams
from seepage.models import stacked_answers
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_answers import accuracy, logits
from seepage.models.stacked_training import first_weights, gradient_stack, train_stack

SMALL = Recipe(hidden=(8, 4), batch_size=16)


def table(rows: int = 300, sizes: tuple[int, ...] = (3, 7, 2), numeric: int = 2, classes: int = 2) -> Encoded:
    """Random rows whose label can be learned; some categories are unknown."""
    generator = np.random.default_rng(0)
    codes = np.stack([generator.integers(-1, size, rows) for size in sizes], 1) if sizes else np.zeros((rows, 0), int)
    numbers = generator.normal(size=(rows, numeric))
    score = numbers.sum(1) + codes.sum(1)
    labels = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return Encoded.of(numbers, codes, sizes, labels, classes)


def rows_of(models: int, count: int, whole: Encoded) -> Tensor:
    generator = np.random.default_rng(1)
    return torch.from_numpy(np.stack([generator.permutation(len(whole))[:count] for _ in range(models)]))


def plain(recipe: Recipe, whole: Encoded, orders: list[Tensor], start: Stack) -> nn.Sequential:
    """The loop everybody writes: one model, torch's layers, torch's Adam."""
    modules: list[nn.Module] = []
    for weight, bias in zip(start.weights, start.biases, strict=True):
        linear = nn.Linear(weight.shape[2], weight.shape[1])
        linear.weight.data, linear.bias.data = weight[0].clone(), bias[0].clone()
        modules += [linear, nn.LeakyReLU(recipe.slope)]
    net = nn.Sequential(*modules[:-1], nn.LogSoftmax(1))
    optimiser = torch.optim.Adam(net.parameters(), lr=recipe.rate)
    x = whole.dense()
    for order in orders:
        for batch in torch.split(order, recipe.batch_size):
            optimiser.zero_grad()
            nn.functional.nll_loss(net(x[batch]), whole.labels[batch]).backward()
            optimiser.step()
    return net


def assert_same(stack: Stack, model: int, net: nn.Sequential, within: float = 1e-5) -> None:
    layers = [module for module in net if isinstance(module, nn.Linear)]
    for layer, weight, bias in zip(layers, stack.weights, stack.biases, strict=True):
        torch.testing.assert_close(weight[model], layer.weight.detach(), rtol=0, atol=within)
        torch.testing.assert_close(bias[model], layer.bias.detach(), rtol=0, atol=within)


@pytest.mark.parametrize(
    ("recipe", "whole"),
    [
        (Recipe(hidden=(32, 16, 8)), table()),
        (Recipe(hidden=(5,), batch_size=300, rate=0.01), table(classes=3)),
        (Recipe(hidden=(6, 3), slope=0.2, batch_size=7), table(sizes=())),
        (Recipe(hidden=(6, 3), batch_size=1000), table(numeric=0)),
    ],
    ids=["the thesis", "one hidden layer, three classes", "numbers only", "categories only, one batch"],
)
def test_stacked_models_are_those_of_a_plain_loop(recipe: Recipe, whole: Encoded) -> None:
    rows = rows_of(3, 150, whole)  # the last batch is incomplete
    trained = train_stack(recipe, whole, rows, [4, 5, 6])
    assert len(trained) == 3
    for model, seed in enumerate([4, 5, 6]):
        start = first_weights(trained.widths, seed)
        assert_same(trained, model, plain(recipe, whole, [rows[model]], start))


def test_later_epochs_take_the_rows_in_an_order_of_the_seed() -> None:
    whole, recipe = table(), Recipe(hidden=(8, 4), batch_size=16, epochs=3)
    rows = rows_of(2, 100, whole)
    trained = train_stack(recipe, whole, rows, [4, 5])
    for model, seed in enumerate([4, 5]):
        later = [Streams(seed).numpy("order", epoch).permutation(100) for epoch in (1, 2)]
        orders = [rows[model], *(rows[model][torch.from_numpy(order)] for order in later)]
        assert_same(trained, model, plain(recipe, whole, orders, first_weights(trained.widths, seed)))


@given(st.integers(1, 9), st.integers(1, 5))
@settings(max_examples=10, deadline=None)
def test_a_model_is_the_same_whatever_is_trained_beside_it(models: int, chunk: int) -> None:
    whole = table(100)
    rows = rows_of(9, 40, whole)
    alone = train_stack(SMALL, whole, rows, range(9), chunk=1)
    beside = train_stack(SMALL, whole, rows[:models], range(models), chunk=chunk)
    for one, other in zip((*alone.weights, *alone.biases), (*beside.weights, *beside.biases), strict=True):
        torch.testing.assert_close(one[:models], other, rtol=0, atol=1e-6)


def test_a_model_can_be_handed_on() -> None:
    whole = table()
    rows = rows_of(2, 100, whole)
    first = train_stack(SMALL, whole, rows, [1, 2])
    before = [weight.clone() for weight in first.weights]
    second = train_stack(SMALL, whole, rows.flip(0), [1, 2], start=first)
    for model in range(2):
        assert_same(second, model, plain(SMALL, whole, [rows.flip(0)[model]], first.take([model])))
    assert all(torch.equal(now, then) for now, then in zip(first.weights, before, strict=True))


@pytest.mark.parametrize("batch_size", [7, 1000])
def test_a_gradient_is_that_of_all_rows_whatever_is_worked_on_at_once(batch_size: int) -> None:
    whole = table(classes=3)
    rows, recipe = rows_of(3, 90, whole), Recipe(hidden=(6, 3), batch_size=batch_size)
    start = Stack.cat([first_weights((whole.width, 6, 3, 3), seed) for seed in range(3)])
    found = gradient_stack(recipe, whole, rows, range(3), start=start, chunk=2)
    for model in range(3):
        net = plain(recipe, whole, [], start.take([model]))
        nn.functional.nll_loss(net(whole.dense()[rows[model]]), whole.labels[rows[model]]).backward()
        for module in net:
            if isinstance(module, nn.Linear):
                assert module.weight.grad is not None
                module.weight.data, module.bias.data = module.weight.grad, module.bias.grad
        assert_same(found, model, net, 1e-6)


def test_rounds_are_chained_and_taken_apart() -> None:
    first, second = (Stack.cat([first_weights((5, 4, 2), seed + k) for seed in range(3)]) for k in (0, 10))
    chained = Stack.chained([first, second])
    assert len(chained) == 3
    assert len(chained.weights) == 4
    for one, other in zip(chained.rounds(2), (first, second), strict=True):
        assert one.widths == other.widths
        assert all(torch.equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))


def test_first_weights_are_xavier_s_and_their_seed_s() -> None:
    one, same, other = (first_weights((50, 30, 2), seed) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one.weights, same.weights, strict=True))
    assert not torch.equal(one.weights[0], other.weights[0])
    bound = (6 / 80) ** 0.5
    assert 0.95 * bound < one.weights[0].abs().max() <= bound
    assert one.biases[0].abs().max() <= 50**-0.5


@pytest.mark.parametrize("classes", [2, 3])
def test_accuracy_is_counted_as_everybody_counts_it(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked_answers, "EVALUATED", 64)
    whole = table(classes=classes)
    whole = whole.take(torch.nonzero((whole.labels != classes - 1) | (torch.arange(len(whole)) % 5 == 0))[:, 0])
    stack = train_stack(SMALL, whole, rows_of(2, 100, whole), [1, 2])
    found, balanced = accuracy(stack, whole)
    for model, scores in enumerate(logits(stack, whole)):
        net = plain(SMALL, whole, [], stack.take([model]))
        torch.testing.assert_close(torch.log_softmax(scores, 1), net(whole.dense()).detach(), rtol=0, atol=1e-5)
        right = scores.argmax(1) == whole.labels
        assert found[model] == pytest.approx(float(right.float().mean()))
        each = [float(right[whole.labels == label].float().mean()) for label in range(classes)]
        assert balanced[model] == pytest.approx(np.mean(each))


def test_a_class_that_no_row_has_does_not_count() -> None:
    whole = table(classes=3)
    some = whole.take(torch.nonzero(whole.labels < 2)[:, 0])
    stack = train_stack(SMALL, some, rows_of(1, 100, some), [1])
    _, balanced = accuracy(stack, some)
    each = [
        float((next(logits(stack, some)).argmax(1) == some.labels)[some.labels == c].float().mean()) for c in (0, 1)
    ]
    assert balanced[0] == pytest.approx(np.mean(each))


def test_stacked_models_learn() -> None:
    whole = table(600)
    trained = train_stack(
        Recipe(hidden=(8, 4), batch_size=16, epochs=20, rate=0.01), whole, rows_of(2, 500, whole), [1, 2]
    )
    assert accuracy(trained, whole)[0].min() > 0.85


def test_dense_rows_have_a_one_for_each_known_category() -> None:
    whole = Encoded.of(np.array([[0.5], [2.0]]), np.array([[1, -1], [0, 2]]), [2, 3], np.array([0, 1]), 2)
    assert whole.width == 6
    assert whole.dense().tolist() == [[0.5, 0, 1, 0, 0, 0], [2.0, 1, 0, 0, 0, 1]]


def test_bad_input_is_one_sentence() -> None:
    whole = table(20)
    rows = torch.zeros(2, 5, dtype=torch.int64)
    with pytest.raises(InputError, match="at least one layer"):
        Recipe(hidden=())
    with pytest.raises(InputError, match="at least 1 neuron"):
        Recipe(hidden=(3, 0))
    with pytest.raises(InputError, match="0 epochs"):
        Recipe(epochs=0)
    with pytest.raises(InputError, match="batches of 0"):
        Recipe(batch_size=0)
    with pytest.raises(InputError, match="rate is nan"):
        Recipe(rate=float("nan"))
    with pytest.raises(InputError, match="slope 2"):
        Recipe(slope=2)
    with pytest.raises(InputError, match=r"shape \(5,\)"):
        train_stack(SMALL, whole, rows[0], [1])
    with pytest.raises(InputError, match=r"shape \(2, 0\)"):
        train_stack(SMALL, whole, rows[:, :0], [1, 2])
    with pytest.raises(InputError, match="outside the table's 20 rows"):
        train_stack(SMALL, whole, rows + 20, [1, 2])
    with pytest.raises(InputError, match="1 seeds for 2 models"):
        train_stack(SMALL, whole, rows, [1])
    with pytest.raises(InputError, match="1 models 3-2; 2 models 14-8-4-2 are trained"):
        train_stack(SMALL, whole, rows, [1, 2], start=first_weights((3, 2), 0))
    with pytest.raises(InputError, match="3-2, but the rows have 14 columns and 2 classes"):
        accuracy(first_weights((3, 2), 0), whole)
    with pytest.raises(InputError, match="0 rows and 1 models"):
        accuracy(first_weights((14, 2), 0), whole.take(torch.arange(0)))
    with pytest.raises(InputError, match="label codes are 0 to 1; 0 to 0 are allowed"):
        Encoded.of(np.zeros((2, 1)), np.zeros((2, 0), int), [], np.array([0, 1]), 1)
    with pytest.raises(InputError, match="category codes are 2 to 3; 0 to 2"):
        Encoded.of(np.zeros((2, 1)), np.array([[2], [3]]), [2], np.array([0, 1]), 2)
    with pytest.raises(InputError, match="different numbers of rows"):
        Encoded.of(np.zeros((3, 1)), np.array([[0], [1]]), [2], np.array([0, 1]), 2)
    with pytest.raises(InputError, match="NaN"):
        Encoded.of(np.full((2, 1), np.nan), np.array([[0], [1]]), [2], np.array([0, 1]), 2)
