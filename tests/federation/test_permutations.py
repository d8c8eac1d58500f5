"""Nothing that an adversary is given tells the order of rows, nor who shared a local batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import Streams
from seepage.federation import Automatic, FedAvg, FedSGD, simulate
from seepage.observation import Knowledge, Observation
from tests import cases

FIRST = Automatic(keep=("initialized",))
KNOWLEDGE = Knowledge(labels=True, ranges=True, statistics=True)
LOCAL, BATCH, EPOCHS = 12, 4, 2
POPULATION = {task: cases.population("mlp", task) for task in ("binary", "regression")}
Change = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Reordered:
    """A protocol whose clients take the same rows in another order."""

    protocol: Any
    change: Change

    def __getattr__(self, name: str) -> Any:
        return getattr(self.protocol, name)

    def work(self, rows: np.ndarray, generator: np.random.Generator) -> Iterator[np.ndarray]:
        for plan in self.protocol.work(rows, generator):
            yield self.change(plan)


def fedsgd() -> FedSGD:
    return FedSGD(batch_size=LOCAL, exposure=0, schedule=FIRST)


def fedavg(batch: int = BATCH, epochs: int = EPOCHS, rate: float = 0.1) -> FedAvg:
    return FedAvg(
        batch_size=batch, local_rows=LOCAL, local_epochs=epochs, learning_rate=rate, exposure=0, schedule=FIRST
    )


def observed(protocol: Any, change: Change = lambda plan: plan, task: str = "binary") -> list[Observation]:
    trace = simulate(Reordered(protocol, change), POPULATION[task], KNOWLEDGE, Streams(2))  # type: ignore[arg-type]
    return list(trace.points[0].observations)


def in_batches(order: list[int]) -> Change:
    """Rows change places inside every local batch."""
    return lambda plan: plan[:, np.argsort(order[: plan.shape[1]], kind="stable")]


def in_epochs(order: list[int]) -> Change:
    """Rows of every pass change places across its local batches, in another way in each pass."""

    def change(plan: np.ndarray) -> np.ndarray:
        passes = plan.reshape(-1, LOCAL)
        return np.stack([each[np.roll(order, place)] for place, each in enumerate(passes)]).reshape(plan.shape)

    return change


def of_batches(plan: np.ndarray) -> np.ndarray:
    """The local batches of every pass come in the opposite order."""
    return plan.reshape(-1, LOCAL // BATCH, BATCH)[:, ::-1].reshape(plan.shape)


def given_alike(one: Observation, other: Observation, *, update: bool) -> None:
    """Everything that an attack is given is the same; the update up to rounding, if it does not depend on the order."""
    assert one.exchange == other.exchange
    assert one.space.known == other.space.known
    assert one.labels is not None
    assert other.labels is not None
    assert torch.equal(one.labels, other.labels)
    for name in one.parameters:
        assert torch.equal(one.parameters[name], other.parameters[name])
        if update:
            torch.testing.assert_close(one.update[name], other.update[name], rtol=1e-4, atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(LOCAL)), st.sampled_from(["binary", "regression"]))
def test_rows_of_a_batch_have_no_order(order: list[int], task: str) -> None:
    for protocol in (fedsgd(), fedavg(), fedavg(batch=LOCAL)):
        plain, mixed = observed(protocol, task=task), observed(protocol, in_batches(order), task)
        for one, other in zip(plain, mixed, strict=True):
            given_alike(one, other, update=True)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(LOCAL)), st.sampled_from(["binary", "regression"]))
def test_who_shared_a_local_batch_is_nowhere_but_in_the_update(order: list[int], task: str) -> None:
    """The order of local steps does change what a client sends; nothing else that an attack is given does."""
    for protocol in (fedavg(), fedavg(epochs=1)):
        plain, mixed = observed(protocol, task=task), observed(protocol, in_epochs(order), task)
        for one, other in zip(plain, mixed, strict=True):
            given_alike(one, other, update=False)


@pytest.mark.parametrize("epochs", [1, EPOCHS])
def test_the_order_of_local_batches_is_nowhere_but_in_the_update(epochs: int) -> None:
    protocol = fedavg(epochs=epochs, rate=1e-3)
    for one, other in zip(observed(protocol), observed(protocol, of_batches), strict=True):
        given_alike(one, other, update=False)
        # To first order in the learning rate local steps add up, whatever their order.
        change = torch.cat([(one.update[name] - other.update[name]).flatten() for name in one.update])
        length = torch.cat([value.flatten() for value in one.update.values()])
        assert float(change.norm()) < 0.02 * float(length.norm())
