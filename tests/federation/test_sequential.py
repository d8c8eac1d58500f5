"""Sequential learning: what the second participant gets is made from the first one's rows alone."""

from __future__ import annotations

import pytest
import torch

from seepage._core import InputError
from seepage.federation.sequential import Sequential
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stacked_training import train_stack

RECIPE = Recipe(hidden=(4, 3), batch_size=8)


def table(rows: int = 60) -> Encoded:
    random = torch.Generator().manual_seed(0)
    numbers = torch.randn(rows, 3, generator=random)
    places = torch.randint(0, 4, (rows, 1), generator=random, dtype=torch.int32)
    return Encoded(numbers, places, 4, (numbers[:, 0] > 0).long(), 2)


def test_a_model_is_handed_on() -> None:
    first, second = torch.arange(0, 30).repeat(3, 1), torch.arange(30, 60).repeat(3, 1)
    chain = Sequential(recipe=RECIPE)
    got, passed_on = chain.hand_on(table(), [first, second], [1, 2, 3])
    alone = train_stack(RECIPE, table(), first, [1, 2, 3])
    assert all(torch.equal(a, b) for a, b in zip(got.weights, alone.weights, strict=True))
    assert not torch.equal(passed_on.weights[0], got.weights[0])
    # Another second participant changes nothing of what it gets.
    again = next(chain.hand_on(table(), [first, second.flip(1)], [1, 2, 3]))
    assert torch.equal(again.weights[0], got.weights[0])


def test_somebody_must_train() -> None:
    with pytest.raises(InputError, match="at least one must train"):
        next(Sequential().hand_on(table(), [], []))
