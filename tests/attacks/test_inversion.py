from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from seepage._core import InputError, Outcome, Streams
from seepage.attacks.inversion import (
    Inversion,
    engine,
    gradient_matching,
    inverting_gradients,
    tableak,
    tableak_no_softmax,
)
from seepage.attacks.inversion.numbers import Bounded
from seepage.attacks.inversion.objectives import Cosine, GaussianKernel, Objective, Squared, Weighted
from seepage.attacks.inversion.pooling import Best, Ensemble, align
from seepage.data import Layout
from seepage.federation import AttackPoint, Automatic, FedAvg, FedSGD, simulate
from seepage.observation import Knowledge
from tests import cases

FIRST = Automatic(keep=("initialized",))


def matching(steps: int) -> Inversion:
    return dataclasses.replace(gradient_matching(), steps=steps)


def attacked(model: str = "mlp", task: str = "binary", *, batch: int = 1, labels: bool = True) -> AttackPoint:
    protocol = FedSGD(batch_size=batch, exposure=0, schedule=FIRST)
    return simulate(protocol, cases.population(model, task), Knowledge(labels=labels), Streams(2)).points[0]


def test_one_row_is_read_back() -> None:
    """A batch of one leaks entirely (document 002, Table 10: accuracy 1.000)."""
    point = attacked(batch=1)
    claims = matching(steps=1500)(point.observations, Streams(0))
    for claim, truth in zip(claims, point.truths, strict=True):
        assert claim.outcome is Outcome.OK
        assert claim.rows is not None
        numbers, codes = truth.encoder.decode(claim.rows, truth.statistics)
        assert (codes == truth.rows.codes).all()
        assert (np.abs(numbers - truth.rows.numbers) <= 0.319 * truth.client_rows.numbers.std(0)).all()


@pytest.mark.parametrize("steps", [1, 10])
def test_many_observations_at_once_equal_one_by_one(steps: int) -> None:
    """Document 002, Table 58: per-client loss difference 2.98e-08 after 1 step, 4.68e-04 after 10."""
    point = attacked(batch=8)
    attack = matching(steps=steps)
    together = attack(point.observations, Streams(0))
    starts = torch.randn(3, 1, 8, point.observations[0].layout.width, generator=_generator(Streams(0).child(0)))
    for index, observation in enumerate(point.observations):
        alone = _loop_reference(observation, starts[index, 0], steps)
        assert together[index].loss == pytest.approx(alone, abs=1e-6 if steps == 1 else 1e-3)


def _generator(streams: Streams) -> torch.Generator:
    return torch.Generator().manual_seed(streams.integer("start"))


def _loop_reference(observation, start: torch.Tensor, steps: int) -> float:  # type: ignore[no-untyped-def]
    """The same attack written plainly: torch.optim.Adam, autograd, one observation."""
    x = start.clone().requires_grad_()
    optimiser = torch.optim.Adam([x], lr=0.06)
    decay = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    target = torch.cat([value.flatten() for value in observation.update.values()]).double()
    lowest = float("inf")
    for _ in range(steps):
        leaves = {name: value.clone().requires_grad_() for name, value in observation.parameters.items()}
        loss = observation.learner.loss(leaves, x, observation.labels)
        slopes = torch.autograd.grad(loss, list(leaves.values()), create_graph=True)
        flat = torch.cat([slope.flatten() for slope in slopes]).double()
        distance = 1 - torch.nn.functional.cosine_similarity(flat, target, dim=0)
        lowest = min(lowest, float(distance.detach()))
        optimiser.zero_grad()
        distance.backward()
        optimiser.step()
        decay.step()
    return lowest


@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("model", cases.MODELS)
def test_the_own_loss_falls_on_every_model_and_task(model: str, task: str) -> None:
    """A few steps lower the matching loss for the clients together (document 002, Table 53, takes 25)."""
    point = attacked(model, task, batch=2)
    start = matching(steps=1)(point.observations, Streams(0))
    later = matching(steps=20)(point.observations, Streams(0))
    assert all(claim.outcome.scored for claim in start + later)
    assert np.mean([claim.loss for claim in later]) < np.mean([claim.loss for claim in start])


@pytest.mark.parametrize("attack", cases.ATTACKS)
def test_the_same_seed_gives_the_same_claim(attack: str) -> None:
    point = attacked(batch=2)
    one, other, third = (cases.ATTACKS[attack](point.observations, Streams(seed)) for seed in (1, 1, 2))
    assert all((a.rows == b.rows).all() for a, b in zip(one, other, strict=True))
    assert any((a.rows != b.rows).any() for a, b in zip(one, third, strict=True))


def test_fedavg_is_replayed() -> None:
    protocol = FedAvg(batch_size=2, local_rows=4, local_epochs=2, exposure=0, schedule=FIRST)
    point = simulate(protocol, cases.population("mlp"), Knowledge(), Streams(2)).points[0]
    short = matching(steps=1)(point.observations, Streams(0))
    longer = matching(steps=200)(point.observations, Streams(0))
    assert max(claim.loss or 9 for claim in longer) < 0.5 * min(claim.loss or 0 for claim in short)


def test_different_parameters_are_attacked_in_one_call() -> None:
    """Observations of different federations are stacked; each is matched against its own model."""
    one = attacked(batch=1).observations[0]
    other = dataclasses.replace(one, parameters={k: v + 0.01 for k, v in one.parameters.items()})
    x = matching(steps=300)([one, other], Streams(0))
    assert (x[0].loss or 9) < 1e-2
    assert x[0].loss != x[1].loss


def test_embedded_categories_are_probabilities() -> None:
    point = attacked("ft_transformer", batch=2)
    claim = matching(steps=3)(point.observations, Streams(0))[0]
    assert claim.rows is not None
    for block in point.observations[0].layout.blocks:
        assert np.allclose(claim.rows[:, block].sum(1), 1, atol=1e-5)


def test_without_labels_dummies_are_used() -> None:
    point = attacked(batch=2, labels=False)
    assert all(claim.outcome.scored for claim in matching(steps=5)(point.observations, Streams(0)))


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_useless_updates_are_not_scored(value: float) -> None:
    good, *rest = attacked(batch=1).observations
    bad = dataclasses.replace(rest[0], update={k: torch.full_like(v, value) for k, v in rest[0].update.items()})
    claims = matching(steps=3)([good, bad], Streams(0))
    assert [claim.outcome for claim in claims] == [Outcome.BUDGET_SPENT, Outcome.NOT_APPLICABLE]
    assert claims[1].rows is None


def test_divergence_is_an_outcome() -> None:
    point = attacked("linear", batch=1)
    attack = matching(steps=5)
    broken = [
        dataclasses.replace(o, parameters={k: torch.full_like(v, torch.nan) for k, v in o.parameters.items()})
        for o in point.observations
    ]
    assert all(claim.outcome is Outcome.DIVERGED for claim in attack(broken, Streams(0)))


def test_bad_settings_and_misfits_are_one_sentence() -> None:
    with pytest.raises(InputError, match="must be at least 1"):
        matching(steps=0)
    observation = attacked(batch=1).observations[0]
    name = next(iter(observation.update))
    with pytest.raises(InputError, match="does not fit the model"):
        dataclasses.replace(observation, update=observation.update | {name: torch.zeros(1)})
    with pytest.raises(InputError, match="the model has not"):
        dataclasses.replace(observation, update=observation.update | {"extra": torch.zeros(1)})
    with pytest.raises(InputError, match="2 labels for 1 attacked rows"):
        dataclasses.replace(observation, labels=torch.zeros(2))


def test_parts_that_need_more_than_is_known_say_so() -> None:
    observation = attacked(batch=1).observations[0]
    bounded = dataclasses.replace(tableak(), steps=2, numbers=Bounded())
    with pytest.raises(InputError, match="--ranges-known"):
        bounded([observation], Streams(0))
    secret = dataclasses.replace(observation, space=dataclasses.replace(observation.space, standardised=True))
    with pytest.raises(InputError, match="--global-statistics"):
        dataclasses.replace(tableak(), steps=2)([secret], Streams(0))
    free = dataclasses.replace(tableak_no_softmax(), steps=2, restarts=2)
    assert free([secret], Streams(0))[0].outcome.scored


def test_restarts_are_independent_and_the_best_one_is_taken_by_its_own_loss() -> None:
    point = attacked(batch=2)
    one = dataclasses.replace(inverting_gradients(), steps=15)
    many = dataclasses.replace(one, restarts=6)
    single, several = one(point.observations, Streams(0)), many(point.observations, Streams(0))
    assert np.mean([c.loss for c in several]) < np.mean([c.loss for c in single])


def test_chunks_do_not_lose_an_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    point = attacked(batch=2)
    monkeypatch.setattr(engine, "CACHE", 1)
    seen: list[tuple[int, int]] = []
    claims = matching(steps=4)(
        point.observations, Streams(0), progress=lambda _, done, total: seen.append((done, total))
    )
    assert [claim.outcome.scored for claim in claims] == [True] * len(point.observations)
    assert seen[-1] == (4 * len(claims), 4 * len(claims))
    assert [done for done, _ in seen] == list(range(1, 4 * len(claims) + 1))


def test_pooling_aligns_rows_before_it_takes_the_median() -> None:
    layout = Layout(1, (2,))
    rows = np.array([[0.0, 1, 0], [5.0, 0, 1], [9.0, 1, 0]])
    runs = np.stack([rows, rows[[2, 0, 1]] + 0.1, rows[[1, 2, 0]] - 0.1])
    losses = np.array([0.1, 0.2, 0.3])
    runs = align(runs, losses)
    assert np.allclose(Ensemble(how="median")(runs, losses, layout), rows)
    assert np.allclose(Ensemble(how="mean")(runs, losses, layout), rows)
    voted = Ensemble(how="vote")(runs, losses, layout)
    assert np.allclose(voted, rows)
    assert (Best()(runs, losses[::-1], layout) == runs[2]).all()


def test_diverged_restarts_take_no_part_in_pooling() -> None:
    space = attacked(batch=2).observations[0].space
    runs = np.zeros((3, 2, space.layout.width))
    runs[1] = 7.0
    claim = tableak_no_softmax()._claim(runs, np.array([0.5, np.inf, 0.4]), space)
    assert claim.rows is not None
    assert (claim.rows == 0).all()
    assert claim.note == "1 of 3 restarts diverged and were left out."


@pytest.mark.parametrize(
    "objective", [Cosine(), Squared(), GaussianKernel(), Weighted(), Weighted(inner=Squared(), how="last")]
)
def test_objectives_are_zero_at_the_true_update_and_positive_elsewhere(objective: Objective) -> None:
    length = torch.tensor([[[3.0]]], dtype=torch.float64)
    own = torch.tensor([[[0.3, 0.7]]], dtype=torch.float64)
    dots, squares = own * length, own * length**2
    assert abs(float(objective(dots, squares, own, length))) < 1e-12
    assert float(objective(-dots, squares, own, length)) > 0.5


def test_unknown_labels_are_worked_out_or_dummies() -> None:
    point = attacked("mlp_tableak", batch=8, labels=False)
    short = dataclasses.replace(tableak(), steps=2, restarts=2)
    restored = short(point.observations, Streams(0))
    assert all(claim.labels is not None and len(claim.labels) == 8 for claim in restored)
    plain = dataclasses.replace(short, restorer=None)(point.observations, Streams(0))
    assert all(claim.labels is None for claim in plain)
    given = short(attacked("mlp_tableak", batch=8).observations, Streams(0))
    assert all(claim.labels is None for claim in given)  # nothing was worked out
