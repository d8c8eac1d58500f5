"""Nothing that an attacker on properties is given tells the order of an owner's rows, where batches are whole."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_training import first_weights, gradient_stack, train_stack

ROWS, MODELS = 16, 3
RECIPE = Recipe(hidden=(4, 3), batch_size=ROWS, epochs=2)


def table() -> Encoded:
    random = torch.Generator().manual_seed(0)
    numbers = torch.randn(4 * ROWS, 3, generator=random)
    places = torch.randint(0, 4, (4 * ROWS, 1), generator=random, dtype=torch.int32)
    return Encoded(numbers, places, 4, (numbers[:, 0] > 0).long(), 2)


TABLE = table()
SERVER = Stack.cat([first_weights((TABLE.width, *RECIPE.hidden, TABLE.classes), 5)] * MODELS)
OWNED = torch.stack([torch.arange(ROWS) + start for start in (0, ROWS, 2 * ROWS)])
SEEDS = [1, 2, 3]


def alike(one: Stack, other: Stack) -> None:
    for mine, yours in zip((*one.weights, *one.biases), (*other.weights, *other.biases), strict=True):
        torch.testing.assert_close(mine, yours, rtol=1e-3, atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(ROWS)))
def test_released_weights_and_updates(order: list[int]) -> None:
    mixed = OWNED[:, order]
    alike(train_stack(RECIPE, TABLE, OWNED, SEEDS), train_stack(RECIPE, TABLE, mixed, SEEDS))
    alike(
        train_stack(RECIPE, TABLE, OWNED, SEEDS, start=SERVER), train_stack(RECIPE, TABLE, mixed, SEEDS, start=SERVER)
    )


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(ROWS)), st.sampled_from([1, 5, ROWS]))
def test_gradients_in_whatever_pieces_they_are_computed(order: list[int], piece: int) -> None:
    """A client sends one gradient of all its rows; the batch size is only how many are worked on at once."""
    in_pieces = Recipe(hidden=RECIPE.hidden, batch_size=piece)
    one = gradient_stack(RECIPE, TABLE, OWNED, SEEDS, start=SERVER)
    alike(one, gradient_stack(in_pieces, TABLE, OWNED[:, order], SEEDS, start=SERVER))
