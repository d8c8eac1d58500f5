"""DP-SGD beside Opacus: the same clipped gradients, the same noise, the same epsilon."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import pytest
import torch
from torch.nn import functional

from seepage._core import Streams
from seepage.defenses import DPSGD
from seepage.defenses import dp_sgd as module
from seepage.defenses.dp_sgd import clipped_sums
from seepage.federation import Automatic, FedAvg, FedSGD, simulate
from seepage.models import Learner, Parameters, Traced, linear_calls
from seepage.models.local_clients import for_each
from seepage.observation import Knowledge
from tests import cases

CLIENTS, ROWS = 2, 6


def batch(model: str, task: str = "binary") -> tuple[Learner, torch.Tensor, torch.Tensor]:
    """A learner, and rows for two clients."""
    population = cases.population(model, task)
    places = torch.arange(CLIENTS * ROWS).reshape(CLIENTS, ROWS)
    return population.learner, population.x[places], population.y[places]


def opacus_step(learner: Learner, x: torch.Tensor, y: torch.Tensor, clip: float) -> dict[str, torch.Tensor]:
    """The clipped mean gradient of one client by Opacus' own hooks and optimiser, without noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, about the hooks that Opacus uses
        from opacus import GradSampleModule
        from opacus.optimizers import DPOptimizer

        net = copy.deepcopy(learner.module).requires_grad_(True).train()
        wrapped = GradSampleModule(net)
        plain = torch.optim.SGD(wrapped.parameters(), lr=1.0)
        optimiser = DPOptimizer(plain, noise_multiplier=0.0, max_grad_norm=clip, expected_batch_size=len(x))
        outputs = wrapped(x)
        if outputs.shape[1] == 1:
            loss = functional.binary_cross_entropy_with_logits(outputs[:, 0], y.float())
        else:
            loss = functional.cross_entropy(outputs, y.long())
        loss.backward()
        optimiser.pre_step()
    return {name: parameter.grad.detach() for name, parameter in net.named_parameters()}


@pytest.mark.parametrize(("model", "task"), [("mlp", "binary"), ("mlp_tableak", "binary"), ("mlp", "multiclass")])
@pytest.mark.parametrize("clip", [0.05, 100.0])
def test_clipped_gradients_are_those_of_opacus(model: str, task: str, clip: float) -> None:
    learner, x, y = batch(model, task)
    private = DPSGD(clip=clip, noise=0.0).gradients(learner)
    ours = private(for_each(CLIENTS, learner.initial()), x, y, torch.Generator())
    for client in range(CLIENTS):
        theirs = opacus_step(learner, x[client], y[client], clip)
        assert set(theirs) == set(ours)
        for name, value in theirs.items():
            torch.testing.assert_close(ours[name][client], value, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("model", cases.MODELS)
def test_without_clipping_the_sum_is_the_batchs_gradient(model: str, task: str) -> None:
    learner, x, y = batch(model, task)
    sums = clipped_sums(learner, for_each(CLIENTS, learner.initial()), x, y, clip=1e9)
    expected = learner.gradients(learner.initial(), x, y)
    for name, value in expected.items():
        torch.testing.assert_close(sums[name] / ROWS, value, atol=2e-5, rtol=1e-3)


RECORDED = [pytest.param(name, marks=pytest.mark.slow) if name == "tabnet" else name for name in cases.MODELS]


@pytest.mark.parametrize("model", RECORDED)
def test_a_recorded_step_is_the_step(model: str) -> None:
    """Long runs replay it."""
    learner, x, y = batch(model)
    arguments = (for_each(CLIENTS, learner.initial()), x, y)
    linear_calls(learner, x.shape[-1])
    replayed = Traced(lambda p, x, y: clipped_sums(learner, p, x, y, 0.1), patience=0)(*arguments)
    for name, value in clipped_sums(learner, *arguments, 0.1).items():
        torch.testing.assert_close(replayed[name], value, atol=1e-6, rtol=1e-4)


def test_dropout_works() -> None:
    learner, x, y = batch("mlp_batchnorm_dropout")
    sums = clipped_sums(learner, for_each(CLIENTS, learner.initial()), x, y, clip=1.0, noisy=True)
    assert all(value.isfinite().all() for value in sums.values())


@pytest.mark.parametrize("model", ["mlp", "mlp_tableak"])
def test_one_row_changes_the_sum_by_the_clipping_norm_at_most(model: str) -> None:
    """The sensitivity on which the guarantee rests."""
    learner, x, y = batch(model)
    extreme = x.clone()
    extreme[0, 0] = 1e4
    rows = for_each(CLIENTS, learner.initial())
    without = clipped_sums(learner, rows, x[:, 1:], y[:, 1:], clip=0.5)
    sums = clipped_sums(learner, rows, extreme, y, clip=0.5)
    change = torch.cat([(sums[name][0] - without[name][0]).flatten() for name in sums])
    assert change.norm() <= 0.5 + 1e-4


def test_class_weights_count_before_clipping() -> None:
    one, _ = cases.learner("mlp_tableak")
    heavy, _ = cases.learner("mlp_tableak", positive_weight=3.0)
    _, x, _ = batch("mlp_tableak")
    parameters, y = for_each(CLIENTS, one.initial()), torch.ones(CLIENTS, ROWS)
    plain, weighted = (clipped_sums(each, parameters, x, y, clip=1e9) for each in (one, heavy))
    torch.testing.assert_close(weighted["0.weight"], 3 * plain["0.weight"])


def test_memory_is_bounded_by_splitting_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, x, y = batch("mlp")
    parameters = for_each(CLIENTS, learner.initial())
    whole = clipped_sums(learner, parameters, x, y, clip=0.1)
    monkeypatch.setattr(module, "MEMORY", CLIENTS * learner.size * 4)  # four rows at a time, of six
    split = clipped_sums(learner, parameters, x, y, clip=0.1)
    assert all(torch.allclose(split[name], whole[name], atol=1e-6) for name in whole)


def test_noise_is_scaled_by_clip_and_batch() -> None:
    learner, x, y = batch("mlp_tableak")
    parameters = for_each(CLIENTS, learner.initial())
    draw = torch.Generator().manual_seed(3)
    noisy = DPSGD(clip=2.0, noise=1.5).gradients(learner)(parameters, x, y, draw)
    clean = DPSGD(clip=2.0, noise=0.0).gradients(learner)(parameters, x, y, draw)
    noise = torch.cat([(noisy[name] - clean[name]).flatten() for name in noisy])
    assert noise.std().item() == pytest.approx(1.5 * 2.0 / ROWS, rel=0.03)


def test_fedavg_takes_every_local_step_with_it() -> None:
    """A replay with the defence's own numbers gives what was sent."""
    population = cases.population("mlp")
    protocol = FedAvg(batch_size=4, local_rows=8, exposure=0, schedule=Automatic(keep=("initialized",)))
    defense = DPSGD(clip=0.1, noise=0.0)
    trace = simulate(protocol, population, Knowledge(), Streams(1), defense=defense)
    observation, truth = trace.points[0].observations[1], trace.points[0].truths[1]
    x = torch.from_numpy(truth.encoder.encode(truth.rows, truth.statistics))
    y = torch.from_numpy(truth.rows.target)
    current: Parameters = for_each(1, observation.parameters)
    for step in range(2):
        rows = slice(4 * step, 4 * step + 4)
        slope = defense.gradients(population.learner)(current, x[None, rows], y[None, rows], torch.Generator())
        current = {name: value - 0.01 * slope[name] for name, value in current.items()}
    for name, value in observation.update.items():
        torch.testing.assert_close(value, current[name][0] - observation.parameters[name], atol=1e-7, rtol=1e-4)


def test_epsilon_is_that_of_opacus() -> None:
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    for _ in range(200):
        accountant.step(noise_multiplier=1.1, sample_rate=0.05)
    ours = DPSGD(noise=1.1).privacy(sampling_rate=0.05, steps=200)
    assert ours.epsilon <= accountant.get_epsilon(delta=1e-5) + 1e-9
    assert ours.epsilon == pytest.approx(accountant.get_epsilon(delta=1e-5), rel=0.01)


def test_no_noise_promises_nothing_and_more_noise_more() -> None:
    spent = [DPSGD(noise=noise).privacy(0.1, 50).epsilon for noise in (0.0, 0.3, 1.0, 10.0, 1000.0)]
    assert spent[0] == math.inf
    assert spent == sorted(spent, reverse=True)
    assert spent[-1] >= 0


def accounted(protocol: Any) -> list[tuple[int, float]]:
    trace = simulate(protocol, cases.population("linear"), Knowledge(), Streams(0), defense=DPSGD())
    return [(privacy.steps, privacy.sampling_rate) for privacy in trace.privacy]


def test_the_accountant_counts_the_steps_of_every_client() -> None:
    sizes = cases.population("linear").sizes
    ends = Automatic(keep=("final",))
    rounds = FedSGD(batch_size=4, exposure=2).clock(sizes).rounds_until(2)
    assert accounted(FedSGD(batch_size=4, exposure=2, schedule=ends)) == [(rounds, 4 / size) for size in sizes]
    averaged = FedAvg(batch_size=4, local_rows=8, local_epochs=3, exposure=6, schedule=ends)
    assert accounted(averaged) == [(2 * 6, 4 / 8)] * len(sizes)  # 2 rounds of 3 passes over 2 batches
    trace = simulate(averaged, cases.population("linear"), Knowledge(), Streams(0))
    assert trace.privacy == ()
