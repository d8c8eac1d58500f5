"""BatchNorm in training mode: with its running statistics rows are read as without it; without them they are not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from seepage._core import NotApplicable, Streams
from seepage.attacks import Exact, attacked
from seepage.attacks.exact.mixed import statistics_of
from seepage.attacks.exact.view import view_of
from seepage.federation import AttackPoint, Automatic, FedAvg, FederatedProtocol, FedSGD, simulate
from seepage.metrics import Evaluator, Reference
from seepage.models import MLP, make_learner
from seepage.observation import Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, Measure
from tests import cases

FIRST = Automatic(keep=("initialized",))
EXACT = Exact(steps=15, restarts=2, start_steps=15, starts=2)


def point(protocol: FederatedProtocol) -> AttackPoint:
    population = cases.population("mlp")
    layout = population.encoder.layout
    net = MLP(width=48, depth=2, activation="relu", norm="batch")
    learner = make_learner(net, layout.numeric, layout.sizes, "binary", 2, seed=2, batch_statistics=True)
    return simulate(protocol, dataclasses.replace(population, learner=learner), Knowledge(), Streams(5)).points[0]


@pytest.fixture(scope="module")
def sent() -> AttackPoint:
    return point(FedSGD(batch_size=8, exposure=0, schedule=FIRST))


def test_the_running_statistics_tell_the_batch_s(sent: AttackPoint) -> None:
    observation, truth = sent.observations[0], sent.truths[0]
    x = torch.from_numpy(truth.encoder.encode(truth.rows, truth.statistics)).double()
    given = x @ observation.parameters["0.weight"].double().T + observation.parameters["0.bias"].double()
    found = statistics_of(observation)
    torch.testing.assert_close(found["1.running_mean"], given.mean(0), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found["1.running_var"], given.var(0, unbiased=False), atol=1e-5, rtol=1e-4)


def test_true_rows_lie_in_the_spans(sent: AttackPoint) -> None:
    for observation, truth in zip(sent.observations, sent.truths, strict=True):
        view = view_of(observation)
        x = torch.from_numpy(truth.encoder.encode(truth.rows, truth.statistics)).double()
        for span, inputs in zip(view.spans, view.inputs(x), strict=True):
            assert span.rank == int(torch.linalg.matrix_rank(inputs, rtol=1e-6))
            assert float(span.distance(inputs).max()) < 10
        assert not view.peelable


def test_rows_are_read_and_no_proof_is_wrong(sent: AttackPoint) -> None:
    evaluator = Evaluator(training=Reference.of(sent.truths[0].client_rows))
    exact, wrong = [], []
    for claim, truth in zip(attacked(EXACT, sent.observations, Streams(0)), sent.truths, strict=True):
        values = evaluator(claim, truth, Knowledge(), np.random.default_rng(0))
        exact.append(values[Measure(ATTACK, ALL_COLUMNS, "exact")])
        wrong.append(values[Measure(ATTACK, ALL_COLUMNS, "certified_wrong")])
    assert np.mean(exact) > 0.8
    assert sum(wrong) == 0


def test_without_the_statistics_rows_are_only_estimated() -> None:
    kept = point(FedSGD(batch_size=8, exposure=0, schedule=FIRST, share_statistics=False))
    assert not kept.observations[0].moved
    with pytest.raises(NotApplicable, match="were not sent"):
        view_of(kept.observations[0])
    (claim,) = attacked(EXACT, kept.observations[:1], Streams(0))
    assert claim.rows is not None
    assert claim.certified is None
    assert "BatchNorm" in claim.note


def test_statistics_of_several_steps_are_not_taken_apart() -> None:
    steps = point(FedAvg(batch_size=4, local_rows=8, exposure=0, schedule=FIRST))
    with pytest.raises(NotApplicable, match="several steps"):
        view_of(steps.observations[0])
