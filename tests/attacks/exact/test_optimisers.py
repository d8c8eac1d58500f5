"""What local optimisers leave to algebra: momentum, decay and FedProx everything, Adam and clipping nothing."""

from __future__ import annotations

import dataclasses

import pytest

from seepage._core import NotApplicable, Streams
from seepage.attacks import Exact, attacked
from seepage.federation import Automatic, FedAvg, simulate
from seepage.models import LocalTraining
from seepage.models.optimisers import SGD, Adam
from seepage.observation import Knowledge, Observation, gradient_of
from tests import cases

EXACT = Exact(steps=15, restarts=2, start_steps=15, starts=2)
KEPT = {
    "plain": LocalTraining(),
    "momentum and decay": LocalTraining(optimiser=SGD(momentum=0.9, nesterov=True, weight_decay=0.01)),
    "fedprox": LocalTraining(proximal=0.5),
    "clipping that is not reached": LocalTraining(clip=1e3),
}
LOST = {"adam": LocalTraining(optimiser=Adam()), "clipping": LocalTraining(clip=1e-3)}


def seen(training: LocalTraining) -> Observation:
    """One client's update after one local step on four rows."""
    protocol = FedAvg(
        batch_size=4, local_rows=4, learning_rate=0.1, training=training, exposure=0,
        schedule=Automatic(keep=("initialized",)),
    )  # fmt: skip
    return simulate(protocol, cases.population("mlp_tableak"), Knowledge(), Streams(3)).points[0].observations[0]


@pytest.mark.parametrize("name", KEPT)
def test_a_linear_optimiser_costs_nothing(name: str) -> None:
    plain, own = seen(KEPT["plain"]), seen(KEPT[name])
    expected, found = gradient_of(plain)[0], gradient_of(own)[0]
    for key, value in expected.items():
        # The difference of two float32 weights, divided by the rate.
        assert float((found[key] - value).abs().max()) < 1e-5
    (claim,) = attacked(EXACT, [own], Streams(0))
    assert claim.certified is not None
    assert claim.certified.all()


@pytest.mark.parametrize("name", LOST)
def test_what_leaves_no_gradient_is_replayed_and_proves_nothing(name: str) -> None:
    observation = seen(LOST[name])
    with pytest.raises(NotApplicable):
        gradient_of(observation)
    (claim,) = attacked(EXACT, [observation], Streams(0))
    assert claim.rows is not None
    assert claim.certified is None
    assert "No gradient of single rows" in claim.note


def test_too_many_rows_to_replay_are_one_sentence() -> None:
    observation = seen(LOST["adam"])
    many = dataclasses.replace(observation.exchange, rows=100, batch_size=100)
    with pytest.raises(NotApplicable, match="100 rows are too many"):
        attacked(EXACT, [dataclasses.replace(observation, exchange=many, labels=None)], Streams(0))
