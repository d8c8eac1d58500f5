"""What a user relies on: rows are read, the answer says which are proven, and it never loses to the optimiser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from seepage._core import InputError, Outcome, Streams
from seepage.attacks.exact import Exact, State, presence_of
from seepage.attacks.exact.case import Case
from seepage.attacks.exact.joint import fit
from seepage.attacks.exact.view import view_of
from seepage.data import Layout
from seepage.defenses import Defense, Quantisation, TopK
from seepage.federation import AttackPoint, FedAvg, FederatedProtocol, FedSGD, Milestones, simulate
from seepage.models import MLP, make_learner
from seepage.observation import Claim, Exchange, Knowledge, Observation, Space
from tests import cases
from tests.attacks.exact.adversary import CODES, LABELS, NUMBERS, an_update

FIRST = Milestones(exposures=(0.0,))
SHORT = Exact(steps=40, restarts=3, start_steps=40, starts=3, compile="no")


def attacked(model: str, protocol: FederatedProtocol, task: str = "binary", *, labels: bool = False) -> AttackPoint:
    return simulate(protocol, cases.population(model, task), Knowledge(labels=labels), Streams(2)).points[0]


def right(claim: Claim, point: AttackPoint, client: int) -> np.ndarray:
    """(claimed rows,) which of them are records."""
    truth = point.truths[client]
    true = truth.encoder.encode(truth.rows, truth.statistics)
    assert claim.rows is not None
    near: np.ndarray = (np.abs(claim.rows[:, None] - true[None]).max(-1) < 0.05).any(1)
    return near


@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("labels", [False, True], ids=["labels unknown", "labels known"])
def test_a_small_batch_is_read_whole(task: str, labels: bool) -> None:
    point = attacked("mlp", FedSGD(batch_size=6, exposure=0, schedule=FIRST), task, labels=labels)
    for client, claim in enumerate(SHORT(point.observations, Streams(0))):
        assert claim.certified is not None
        assert claim.certified.all()
        assert right(claim, point, client).all()
        if not labels and task != "regression":
            assert claim.labels is not None
            truth = point.truths[client].rows.target
            assert sorted(claim.labels.tolist()) == sorted(truth.tolist())


@pytest.mark.parametrize("model", cases.MODELS)
def test_one_row_is_read_by_algebra_or_not_claimed_to_be(model: str) -> None:
    point = attacked(model, FedSGD(batch_size=1, exposure=0, schedule=FIRST))
    for client, claim in enumerate(SHORT(point.observations, Streams(0))):
        assert claim.certified is not None
        assert right(claim, point, client)[claim.certified].all()
        if model != "tabnet":  # TabNet's attention leaves columns out of the update altogether
            assert claim.certified.all()


def test_several_local_steps_keep_the_first_layer_exact() -> None:
    protocol = FedAvg(batch_size=2, local_rows=6, local_epochs=3, exposure=0, schedule=FIRST)
    point = attacked("mlp_tableak", protocol)
    for client, claim in enumerate(SHORT(point.observations, Streams(0))):
        assert claim.certified is not None
        assert right(claim, point, client)[claim.certified].all()
        assert right(claim, point, client).mean() > 0.8


def test_more_rows_than_the_layer_is_wide_are_estimated_and_the_note_says_why() -> None:
    claim = SHORT([an_update(CODES, NUMBERS, LABELS, width=4)], Streams(0))[0]
    assert claim.certified is not None
    assert not claim.certified.any()
    assert "6 rows use up the 4 directions" in claim.note


def test_noise_is_named_in_the_note() -> None:
    point = attacked("mlp", FedSGD(batch_size=4, exposure=0, schedule=FIRST))
    generator = torch.Generator().manual_seed(0)
    loud = {n: v + 0.01 * torch.randn(v.shape, generator=generator) for n, v in point.observations[0].update.items()}
    claim = SHORT([replace(point.observations[0], update=loud)], Streams(0))[0]
    assert claim.certified is not None
    assert not claim.certified.any()
    assert "above the error" in claim.note or "times that of float32" in claim.note


def test_useless_updates_are_not_applicable() -> None:
    point = attacked("mlp", FedSGD(batch_size=2, exposure=0, schedule=FIRST))
    zero = {name: torch.zeros_like(value) for name, value in point.observations[0].update.items()}
    claim = SHORT([replace(point.observations[0], update=zero)], Streams(0))[0]
    assert claim.outcome is Outcome.NOT_APPLICABLE


def test_bad_settings_are_one_sentence() -> None:
    with pytest.raises(InputError, match="turns is 0; it must be at least 1"):
        Exact(turns=0)


@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
@pytest.mark.parametrize("model", ["mlp", "ft_transformer", "linear", "resnet"])
@pytest.mark.parametrize("batch", [2, 16])
def test_presence_is_read_exactly_at_any_batch_size(model: str, protocol: str, batch: int) -> None:
    rules: FederatedProtocol = FedSGD(batch_size=batch, exposure=0, schedule=FIRST)
    if protocol == "fedavg":
        rules = FedAvg(batch_size=batch // 2, local_rows=batch, local_epochs=2, exposure=0, schedule=FIRST)
    point = attacked(model, rules)
    for observation, truth in zip(point.observations, point.truths, strict=True):
        presence = presence_of(observation)
        assert presence.readable
        for column, states in enumerate(presence.states):
            has = np.isin(np.arange(len(states)), truth.rows.codes[:, column])
            wanted = np.where(has, State.PRESENT, State.ABSENT)
            # One output and as many rows as categories: nothing shows how large the error is, so nothing is said.
            assert (states == wanted).all() or (model == "linear" and (states == State.UNKNOWN).all())


def test_presence_under_noise_is_unknown_not_absent() -> None:
    point = attacked("mlp", FedSGD(batch_size=4, exposure=0, schedule=FIRST))
    generator = torch.Generator().manual_seed(0)
    loud = {n: v + 0.1 * torch.randn(v.shape, generator=generator) for n, v in point.observations[0].update.items()}
    counts = presence_of(replace(point.observations[0], update=loud)).counts()
    assert counts["absent"] == 0
    assert counts["unknown"] > 0


def test_a_number_that_everybody_shares_is_read() -> None:
    learner = make_learner(cases.MODELS["mlp"], 2, (3,), "binary", 2, seed=1)
    numbers = torch.tensor([[0.5, -1.0], [0.5, 0.3], [0.5, 2.0]])
    x = torch.cat([numbers, torch.eye(3)], 1)
    parameters = learner.initial()
    update = learner.gradient(parameters, x, torch.tensor([0, 1, 1]))
    observation = Observation(
        learner=learner, space=Space(layout=Layout(2, (3,))), parameters=parameters, update=update,
        exchange=Exchange(protocol="fedsgd", rows=3, batch_size=3),
    )  # fmt: skip
    constants = presence_of(observation).constants
    assert constants[0] == pytest.approx(0.5, abs=1e-4)
    assert np.isnan(constants[1])


@pytest.mark.parametrize("model", ["mlp", "mlp_tableak", "ft_transformer"])
@pytest.mark.parametrize("defense", [TopK(share=0.03), Quantisation(bits=1), Quantisation(bits=2)], ids=str)
def test_compressed_updates_are_never_certified(model: str, defense: Defense) -> None:
    """A cut or rounded gradient of one row is often still of rank one; nothing shows how far it was moved."""
    point = attacked(model, FedSGD(batch_size=1, exposure=0, schedule=FIRST))
    for observation in point.observations[:2]:
        whole = {name: value[None] for name, value in observation.update.items()}
        sent = {name: value[0] for name, value in defense.protect(whole, torch.Generator()).items()}
        case = Case(replace(observation, update=sent))
        assert not len(case.rows)
        assert case.estimate is not None or case.view.compressed


def test_the_last_rows_of_a_regression_are_fitted_together() -> None:
    """A squared loss's own slope is linear in the target, which forward-mode differentiation under vmap cannot take."""
    learner = make_learner(MLP(width=12, depth=2, norm="none"), 2, (3, 3), "regression", 1, seed=0)
    draws = torch.Generator().manual_seed(1)
    numbers = torch.randn(3, 2, generator=draws)
    codes = torch.tensor([[0, 1], [2, 0], [1, 1]])
    x = torch.cat([numbers, torch.eye(3)[codes[:, 0]], torch.eye(3)[codes[:, 1]]], 1)
    y = torch.randn(3, generator=draws)
    weights = learner.initial()
    observation = Observation(
        learner=learner,
        space=Space(layout=Layout(numeric=2, sizes=(3, 3))),
        parameters=weights,
        update=learner.gradient(weights, x, y),
        exchange=Exchange(protocol="fedsgd", rows=3, batch_size=3),
    )
    found = fit(view_of(observation), codes, numbers.double() + 0.05, y.double())
    assert float((found.numbers - numbers).abs().max()) < 1e-3
