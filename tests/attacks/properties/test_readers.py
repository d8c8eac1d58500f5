from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from seepage._core import InputError
from seepage.attacks.properties.readers import (
    READERS,
    DeepSets,
    Flat,
    Joined,
    ListedSets,
    Paths,
    Reader,
    Rounds,
    Sorted,
    take,
)
from seepage.models import scoped_randomness
from seepage.models.stack import Stack
from tests.attacks.properties.shadows import outputs, permuted, random_stack

WIDTHS = (5, 6, 4, 3, 2)
INVARIANT: list[Reader] = [
    DeepSets(),
    Paths(),
    Paths(rows=torch.randn(7, WIDTHS[0], generator=torch.Generator().manual_seed(0))),
    Joined(),
    Sorted(),
]


def models(seed: int, count: int = 4, widths: tuple[int, ...] = WIDTHS) -> Stack:
    return random_stack(count, widths, torch.Generator().manual_seed(seed))


def features(reader: Reader, *stacks: Stack) -> list[Tensor]:
    """Of several stacks, by one network in double precision."""
    doubles = [Stack(tuple(w.double() for w in s.weights), tuple(b.double() for b in s.biases)) for s in stacks]
    parts = [reader.parts(each) for each in doubles]
    with scoped_randomness(3):
        network = reader.network(parts[0]).double().eval()
    with torch.no_grad():
        return [network(each) for each in parts]


@pytest.mark.parametrize("reader", INVARIANT, ids=lambda reader: type(reader).__name__)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), widths=st.sampled_from([WIDTHS, (3, 2), (4, 7, 3), (2, 3, 3, 3, 1)]))
def test_the_order_of_hidden_neurons_does_not_matter(reader: Reader, seed: int, widths: tuple[int, ...]) -> None:
    if isinstance(reader, Paths) and reader.rows is not None and widths[0] != WIDTHS[0]:
        return
    stack = models(seed, widths=widths)
    other = permuted(stack, torch.Generator().manual_seed(seed + 1))
    rows = torch.randn(len(stack), 3, widths[0], generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(outputs(stack, rows), outputs(other, rows), atol=1e-5)  # they are the same functions
    one, two = features(reader, stack, other)
    assert torch.allclose(one, two, atol=1e-9)


@pytest.mark.parametrize("reader", [DeepSets(), Paths(), Joined()], ids=["deepsets", "paths", "joined"])
def test_what_does_matter_is_seen(reader: Reader) -> None:
    stack = models(0)
    columns, swapped = torch.tensor([1, 0, 2, 3, 4]), torch.tensor([1, 0])
    turned = Stack((stack.weights[0][:, :, columns], *stack.weights[1:]), stack.biases)
    mirrored = Stack(
        (*stack.weights[:-1], stack.weights[-1][:, swapped]), (*stack.biases[:-1], stack.biases[-1][:, swapped])
    )
    one, *others = features(reader, stack, turned, mirrored)
    assert all(not torch.allclose(one, other, atol=1e-3) for other in others)


@pytest.mark.parametrize("reader", [Flat(), ListedSets()], ids=["flat", "deepsets_thesis"])
def test_lists_do_see_the_order(reader: Reader) -> None:
    stack = models(0)
    one, two = features(reader, stack, permuted(stack, torch.Generator().manual_seed(1)))
    assert not torch.allclose(one, two, atol=1e-3)


def test_sorting_leaves_the_function_and_puts_the_sums_in_order() -> None:
    stack = models(2)
    (row,) = Sorted().parts(stack)
    sizes = [w[0].numel() for w in (*stack.weights, *stack.biases)]
    tensors = [
        part.reshape(whole.shape)
        for part, whole in zip(row.split(sizes, 1), (*stack.weights, *stack.biases), strict=True)
    ]  # type: ignore[no-untyped-call]
    found = Stack(tuple(tensors[:4]), tuple(tensors[4:]))
    rows = torch.randn(4, 3, WIDTHS[0], generator=torch.Generator().manual_seed(0))
    assert torch.allclose(outputs(stack, rows), outputs(found, rows), atol=1e-5)
    assert all(bool((weight.sum(2).diff(dim=1) >= 0).all()) for weight in found.weights[:-1])


@pytest.mark.parametrize("widths", [WIDTHS, (3, 2), (4, 6, 3)])
def test_paths_are_the_mean_derivative_and_the_answers(widths: tuple[int, ...]) -> None:
    stack, count = models(3, widths=widths), 7
    rows = torch.randn(count, widths[0], generator=torch.Generator().manual_seed(4), requires_grad=True)
    (read,) = Paths(rows=rows.detach()).parts(stack)
    read = read.reshape(4, widths[-1] - 1, -1)
    answers = outputs(stack, rows.expand(4, -1, -1))
    for model in range(4):
        for output in range(1, widths[-1]):
            against = answers[model, :, output] - answers[model, :, 0]
            (slope,) = torch.autograd.grad(against.sum(), rows, retain_graph=True)
            found = read[model, output - 1]
            assert torch.allclose(found[: widths[0]], slope.mean(0), atol=1e-5)
            assert torch.allclose(found[2 * widths[0] + 1 :][:count], against, atol=1e-5)


@pytest.mark.parametrize("name", READERS)
def test_weights_that_never_change_and_single_models_give_finite_features(name: str) -> None:
    stack = models(5, count=3)
    still = Stack(tuple(torch.zeros_like(w) for w in stack.weights), tuple(torch.ones_like(b) for b in stack.biases))
    reader = READERS[name]()
    network = reader.network(reader.parts(still)).eval()
    assert bool(network(reader.parts(stack)).isfinite().all())
    assert network(take(reader.parts(stack), torch.tensor([1]))).shape[0] == 1


@pytest.mark.parametrize("name", READERS)
def test_a_batch_does_not_change_what_is_read_of_a_model(name: str) -> None:
    stack, reader = models(6, count=300), READERS[name]()
    network = reader.network(reader.parts(stack)).eval()
    whole, part = network(reader.parts(stack)), network(reader.parts(stack.take([7, 200])))
    assert torch.allclose(whole[[7, 200]], part, atol=1e-4)


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="width of 0"):
        DeepSets(hidden=0)
    with pytest.raises(InputError, match="dropout"):
        Flat(dropout=1.0)
    with pytest.raises(InputError, match="have 3 columns, the models 5"):
        Paths(rows=torch.zeros(2, 3)).parts(models(0))
    with pytest.raises(InputError, match="not finite"):
        Paths(rows=torch.full((2, 5), torch.nan))
    with pytest.raises(InputError, match="give a few rows"):
        Paths(rows=torch.zeros(0, 5))
    with pytest.raises(InputError, match="slope"):
        Paths(slope=2.0)


@pytest.mark.parametrize("reader", [DeepSets(), Paths(), Joined(), Sorted(), Flat()], ids=lambda each: str(type(each)))
def test_rounds_are_read_side_by_side(reader: Reader) -> None:
    first, second, other = models(0), models(1), models(2)
    seen = Rounds(reader=reader, rounds=2)
    one, two = features(seen, Stack.chained([first, second]), Stack.chained([first, other]))
    half = one.shape[1] // 2
    assert torch.equal(one[:, :half], two[:, :half])  # the first round, by a network of its own
    assert not torch.allclose(one[:, half:], two[:, half:])
    assert half == features(reader, first)[0].shape[1]


def test_the_sets_of_the_thesis_sum_eight_numbers_of_each_layer() -> None:
    (found,) = features(ListedSets(), models(0))
    assert found.shape == (4, 8 * (len(WIDTHS) - 1))
    network = ListedSets().network(ListedSets().parts(models(0)))
    layers = [[module for module in phi if isinstance(module, torch.nn.Linear)] for phi in network.phi]  # type: ignore[union-attr]
    assert [len(each) for each in layers] == [2, 2, 2, 1]
    assert [each[0].in_features for each in layers] == [6, 7 + 8 * 6, 5 + 8 * 4, 4 + 8 * 3]


def test_in_the_first_layer_the_thesis_sees_a_set() -> None:
    """With one hidden layer and a last layer that is fed the same everywhere, only the list of context can tell."""
    stack = models(0, widths=(5, 6))
    order = torch.randperm(6, generator=torch.Generator().manual_seed(1))
    other = Stack((stack.weights[0][:, order],), (stack.biases[0][:, order],))
    one, two = features(ListedSets(), stack, other)
    assert torch.allclose(one, two, atol=1e-9)
