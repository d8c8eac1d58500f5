"""Nothing that an adversary is given tells the order of rows, nor who shared a local batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import Streams
from seepage.attacks.inversion import Inversion
from seepage.federation import Automatic, FedAvg, FedSGD, simulate
from seepage.federation.cohorts import SecureAggregation
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


def fedsgd(**others: Any) -> FedSGD:
    return FedSGD(batch_size=LOCAL, **{"exposure": 0, "schedule": FIRST} | others)


def fedavg(batch: int = BATCH, epochs: int = EPOCHS, rate: float = 0.1, **others: Any) -> FedAvg:
    usual: dict[str, Any] = {"exposure": 0, "schedule": FIRST}
    return FedAvg(batch_size=batch, local_rows=LOCAL, local_epochs=epochs, learning_rate=rate, **usual | others)


def observed(
    protocol: Any, change: Change = lambda plan: plan, task: str = "binary", watched: tuple[int, ...] = (1,)
) -> list[Observation]:
    reordered: Any = Reordered(protocol, change)
    trace = simulate(reordered, POPULATION[task], KNOWLEDGE, Streams(2), watched=watched)
    return [each for point in trace.points for each in point.observations]


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
    assert one.parameters.keys() == other.parameters.keys()
    for name in one.parameters:
        torch.testing.assert_close(one.parameters[name], other.parameters[name], rtol=0, atol=1e-6)
        if update:
            torch.testing.assert_close(one.update[name], other.update[name], rtol=1e-4, atol=1e-6)
    for mine, yours in ((one.buffers, other.buffers), (one.moved, other.moved)):
        assert mine.keys() == yours.keys()
        for name, value in mine.items():
            torch.testing.assert_close(value, yours[name], rtol=1e-4, atol=1e-6)
    for before, same in zip(one.earlier, other.earlier, strict=True):
        given_alike(before, same, update=update)


@settings(max_examples=6, deadline=None)
@given(st.permutations(range(LOCAL)), st.sampled_from(["binary", "regression"]))
def test_rows_of_a_batch_have_no_order(order: list[int], task: str) -> None:
    for protocol in (fedsgd(), fedsgd(fixed_batch=True), fedavg(), fedavg(batch=LOCAL), fedavg(same_order=True)):
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


@settings(max_examples=3, deadline=None)
@given(st.permutations(range(LOCAL)))
def test_rounds_that_are_joined_tell_no_order_either(order: list[int]) -> None:
    later: dict[str, Any] = {"exposure": 3, "schedule": Automatic(keep=("initialized", "final"))}
    for protocol in (fedsgd(**later), fedsgd(fixed_batch=True, **later), fedavg(batch=LOCAL, epochs=1, **later)):
        plain, mixed = (observed(protocol, change, watched=(1, 2)) for change in (lambda plan: plan, in_batches(order)))
        assert any(each.earlier for each in plain)
        for one, other in zip(plain, mixed, strict=True):
            given_alike(one, other, update=True)


@settings(max_examples=5, deadline=None)
@given(st.permutations(range(LOCAL)))
def test_a_sum_over_clients_has_no_order(order: list[int]) -> None:
    for protocol in (fedsgd(), fedavg(batch=LOCAL)):
        sums = [
            SecureAggregation(protocol=cast(Any, Reordered(protocol, change)), cohort=2, rounds=2)(
                POPULATION["binary"], KNOWLEDGE, Streams(2)
            )[0]
            for change in (lambda plan: plan, in_batches(order))
        ]
        for one, other in zip(*sums, strict=True):
            assert (one.cohort, one.exchange) == (other.cohort, other.exchange)
            assert torch.equal(*(each.labels for each in (one, other) if each.labels is not None))
            for name, value in one.total.items():
                torch.testing.assert_close(value, other.total[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_known_labels_are_dealt_over_local_batches_at_random(seed: int) -> None:
    """They come sorted: taken as they come, the attack would put one class in each batch."""
    attack = Inversion(steps=1)
    (several, *_), (alone, *_) = observed(fedavg()), observed(fedavg(batch=LOCAL))
    assert several.labels is not None
    assert 0 < int(several.labels.sum()) < LOCAL
    (dealt,), (again,) = attack.runs([several], Streams(seed)), attack.runs([several], Streams(seed + 10))
    assert dealt.used is not None
    assert again.used is not None
    assert not torch.equal(dealt.used, several.labels) or not torch.equal(again.used, several.labels)
    assert not torch.equal(dealt.used, again.used)
    assert torch.equal(dealt.used.sort().values, several.labels)
    (single,) = attack.runs([alone], Streams(seed))
    assert single.used is not None
    assert torch.equal(single.used, cast(torch.Tensor, alone.labels))
