"""The functional core against plain autograd, for every model and task."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from seepage._core import InputError
from seepage.models import Learner, Parameters, Traced, record
from tests import cases
from tests.reference import local_training

# Processors add numbers in other orders, so through a net single precision (1.2e-7) differs by a few dozen of its last
# digits. A wrong gradient differs by far more.
ROUNDING = 1e-5


def batch(model: str, task: str, clients: int = 3, rows: int = 4) -> tuple[Learner, torch.Tensor, torch.Tensor]:
    learner, encoder = cases.learner(model, task)
    table = cases.table(task)
    x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))
    y = torch.from_numpy(table.target)
    if task == "regression":
        y = ((y - y.mean()) / y.std()).float()
    count = clients * rows
    return learner, x[:count].reshape(clients, rows, -1), y[:count].reshape(clients, rows)


def plain_gradient(learner: Learner, parameters: Parameters, x: torch.Tensor, y: torch.Tensor) -> Parameters:
    """The reference: torch's own loss functions and autograd, one client."""
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    outputs = torch.func.functional_call(learner.module, leaves, (x,))
    if learner.task == "regression":
        loss = functional.mse_loss(outputs[:, 0], y)
    elif outputs.shape[1] == 1:
        weight = torch.tensor(learner.positive_weight)
        loss = functional.binary_cross_entropy_with_logits(outputs[:, 0], y.float(), pos_weight=weight)
    else:
        loss = functional.cross_entropy(outputs, y)
    slopes = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    return {
        name: torch.zeros_like(leaf) if slope is None else slope
        for (name, leaf), slope in zip(leaves.items(), slopes, strict=True)
    }


@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("model", cases.MODELS)
def test_vectorised_gradients_agree_with_autograd(model: str, task: str) -> None:
    learner, x, y = batch(model, task)
    parameters = learner.initial()
    together = Traced(learner.gradients, patience=0)(parameters, x, y)
    for client in range(len(x)):
        alone = plain_gradient(learner, parameters, x[client], y[client])
        for name, value in alone.items():
            scale = max(1.0, float(value.abs().max()))
            assert (together[name][client] - value).abs().max() <= ROUNDING * scale, name


@pytest.mark.parametrize("model", cases.MODELS)
def test_local_training_is_plain_sgd(model: str) -> None:
    learner, x, y = batch(model, "binary", clients=2)
    expected = learner.initial()
    for step in range(2):
        slope = plain_gradient(learner, expected, x[step], y[step])
        expected = {name: value - 0.1 * slope[name] for name, value in expected.items()}
    start = learner.initial()
    delta = local_training(learner, start, x, y, 0.1)
    stacked = {name: value.expand(2, *value.shape) for name, value in start.items()}
    for step in range(2):
        both = torch.stack([x[step], x[step]]), torch.stack([y[step], y[step]])
        stacked = learner.local_steps(stacked, *both, 0.1)
    for name, value in expected.items():
        torch.testing.assert_close(start[name] + delta[name], value, atol=ROUNDING, rtol=ROUNDING)
        torch.testing.assert_close(stacked[name][1], value, atol=ROUNDING, rtol=ROUNDING)


def test_positive_weight_is_that_of_torch() -> None:
    learner, _ = cases.learner("linear", positive_weight=13.0)
    _, x, y = batch("linear", "binary")
    parameters = learner.initial()
    expected = plain_gradient(learner, parameters, x[0], y[0])
    found = learner.gradient(parameters, x[0], y[0])
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)


def test_loss_survives_extreme_outputs() -> None:
    learner, _ = cases.learner("linear")
    for logit in (-1e4, 1e4):
        for label in (0, 1):
            outputs, y = torch.tensor([[logit]]), torch.tensor([label])
            expected = functional.binary_cross_entropy_with_logits(outputs[:, 0], y.float())
            torch.testing.assert_close(learner.loss_of_outputs(outputs, y), expected)


def test_dropout_is_the_clients_business_only() -> None:
    learner, x, y = batch("mlp_batchnorm_dropout", "binary")
    parameters = learner.initial()
    assert learner.has_noise
    quiet = learner.loss(parameters, x[0], y[0])
    assert learner.loss(parameters, x[0], y[0]) == quiet
    noisy = {float(learner.loss(parameters, x[0], y[0], noisy=True)) for _ in range(5)}
    assert len(noisy) > 1


def test_batchnorm_uses_stored_statistics() -> None:
    """A row's output does not depend on its batch mates, with and without dropout's mode."""
    learner, x, _ = batch("mlp_batchnorm_dropout", "binary")
    parameters = learner.initial()
    together = learner.outputs(parameters, x[0])
    alone = torch.cat([learner.outputs(parameters, row[None]) for row in x[0]])
    torch.testing.assert_close(together, alone)
    before = {name: value.clone() for name, value in learner.module.named_buffers()}
    learner.gradients(parameters, x, torch.zeros(x.shape[:2], dtype=torch.int64), noisy=True)
    assert all((value == before[name]).all() for name, value in learner.module.named_buffers())


def test_initial_parameters_come_from_the_seed_and_leave_the_global_generator_alone() -> None:
    state = torch.get_rng_state()
    first, second = cases.learner("mlp", seed=1)[0].initial(), cases.learner("mlp", seed=1)[0].initial()
    other = cases.learner("mlp", seed=2)[0].initial()
    assert all((first[name] == second[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)
    assert (torch.get_rng_state() == state).all()


def test_initial_parameters_survive_gradients() -> None:
    """TabNet ties layers; calling it functionally must not change where training starts."""
    learner, x, y = batch("tabnet", "binary")
    before = learner.initial()
    learner.gradients(before, x, y)
    after = learner.initial()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)


def test_a_recorded_function_keeps_equal_arguments_apart() -> None:
    x = torch.ones(3)
    function = Traced(lambda a, b: (a + 1, b * 2), patience=0)
    function(x, x)
    first, second = function(torch.zeros(3), torch.ones(3))
    assert first.tolist() == [1, 1, 1]
    assert second.tolist() == [2, 2, 2]


def test_recording_begins_after_some_calls_and_changes_nothing() -> None:
    calls = []

    def function(a: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return a.sin() * 2

    traced = Traced(function, patience=2)
    x = torch.arange(3.0)
    results = [traced(x) for _ in range(5)]
    assert len(calls) == 3  # two as they are, one to record
    assert all((result == results[0]).all() for result in results)


def test_recording_does_not_change_in_place_semantics() -> None:
    def function(a: torch.Tensor) -> torch.Tensor:
        view = a.detach().view(2, 3).clone()
        view.add_(1)
        return view.view(2, 3) * a

    a = torch.arange(6.0).reshape(2, 3)
    assert (record(function, a)(a) == function(a)).all()
    assert (a == torch.arange(6.0).reshape(2, 3)).all()


def test_bad_weight_is_one_sentence() -> None:
    with pytest.raises(InputError, match="must be above 0"):
        cases.learner("linear", positive_weight=0)
