"""What a server of vertical learning is given does not tell where people stand in the tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import Streams
from seepage.federation.vertical.shared import SharedLayers
from seepage.models import MLP, make_learner
from seepage.observation.vertical import VerticalUpdate

ROWS, WIDTH, BATCH, BATCHES = 12, 4, 5, 6
LEARNER = make_learner(MLP(width=6, depth=1, activation="sigmoid", norm="none"), WIDTH, (), "multiclass", 3, seed=0)
X = torch.rand(ROWS, WIDTH, generator=torch.Generator().manual_seed(1))
Y = torch.arange(ROWS) % 3


class Renamed(Streams):
    """A server that asks for the same people by the places they have now."""

    place: np.ndarray

    def numpy(self, *names: object) -> np.random.Generator:
        return _Renamed(super().numpy(*names), self.place)  # type: ignore[return-value, arg-type]


class _Renamed:
    def __init__(self, generator: np.random.Generator, place: np.ndarray) -> None:
        self._generator, self._place = generator, place

    def choice(self, *asked: object, **options: object) -> np.ndarray:
        chosen: np.ndarray = self._place[self._generator.choice(*asked, **options)]  # type: ignore[call-overload]
        return chosen


def seen(protocol: SharedLayers, order: list[int]) -> Iterator[VerticalUpdate]:
    """The updates where person ``order[i]`` stands in row i."""
    streams = Renamed(3)
    object.__setattr__(streams, "place", np.argsort(order))
    return protocol.stream(LEARNER, X[order], Y[order], BATCHES, streams)


@pytest.mark.parametrize(
    "protocol",
    [
        SharedLayers(batch_size=BATCH, moments=True),
        SharedLayers(batch_size=BATCH, rate=0.1),
        SharedLayers(batch_size=BATCH, rate=0.01, adam=True),
    ],
    ids=["fixed", "sgd", "adam"],
)
@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(ROWS)))
def test_the_order_of_the_tables_is_in_no_update(protocol: SharedLayers, order: list[int]) -> None:
    for one, other in zip(seen(protocol, list(range(ROWS))), seen(protocol, order), strict=True):
        assert one.rows.tolist() == [order[place] for place in other.rows.tolist()]  # the same people
        for name, value in one.gradient.items():
            torch.testing.assert_close(value, other.gradient[name], rtol=1e-4, atol=1e-6)
            torch.testing.assert_close(one.parameters[name], other.parameters[name], rtol=1e-4, atol=1e-6)
        for mine, yours in zip(one.moments or (), other.moments or (), strict=True):
            torch.testing.assert_close(mine, yours, rtol=1e-4, atol=1e-6)
