from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from seepage._core import InputError, Outcome, Streams
from seepage.attacks.inversion import (
    Inversion,
    Runs,
    dlg,
    engine,
    gradient_matching,
    gradinversion_bn,
    inverting_gradients,
    tableak,
    tableak_no_softmax,
)
from seepage.attacks.inversion.numbers import Bounded
from seepage.attacks.inversion.objectives import Cosine, GaussianKernel, Objective, Squared, Weighted
from seepage.attacks.inversion.optimisers import LBFGS, Adam
from seepage.attacks.inversion.pooling import Best, Ensemble, align
from seepage.attacks.inversion.priors import GroupConsistency
from seepage.attacks.inversion.starts import FromMarginals
from seepage.data import Layout
from seepage.federation import AttackPoint, Automatic, FedAvg, FedSGD, simulate
from seepage.models import Learner
from seepage.observation import Knowledge
from seepage.results.tallies import TALLYING
from tests import cases

FIRST = Automatic(keep=("initialized",))


def matching(steps: int) -> Inversion:
    return dataclasses.replace(gradient_matching(), steps=steps)


def attacked(model: str = "mlp", task: str = "binary", *, batch: int = 1, labels: bool = True) -> AttackPoint:
    protocol = FedSGD(batch_size=batch, exposure=0, schedule=FIRST)
    return simulate(protocol, cases.population(model, task), Knowledge(labels=labels), Streams(2)).points[0]


def test_one_row_is_read_back() -> None:
    """A batch of one leaks entirely (the profiling study, Table 10: accuracy 1.000)."""
    point = attacked(batch=1)
    claims = matching(steps=800)(point.observations, Streams(0))
    for claim, truth in zip(claims, point.truths, strict=True):
        assert claim.outcome is Outcome.OK
        assert claim.rows is not None
        numbers, codes = truth.encoder.decode(claim.rows, truth.statistics)
        assert (codes == truth.rows.codes).all()
        assert (np.abs(numbers - truth.rows.numbers) <= 0.319 * truth.client_rows.numbers.std(0)).all()


@pytest.mark.parametrize("steps", [1, 10])
def test_many_observations_at_once_equal_one_by_one(steps: int) -> None:
    """The profiling study, Table 58: per-client loss difference 2.98e-08 after 1 step, 4.68e-04 after 10."""
    point = attacked(batch=8)
    attack = matching(steps=steps)
    together = attack(point.observations, Streams(0))
    for index, observation in enumerate(point.observations):
        generator = torch.Generator().manual_seed(Streams(0).child(index).integer("start"))
        start = torch.randn(1, 8, observation.layout.width, generator=generator)[0]
        alone = _loop_reference(observation, start, steps)
        assert together[index].loss == pytest.approx(alone, abs=1e-6 if steps == 1 else 1e-3)


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
    """A few steps lower the matching loss for the clients together (the profiling study, Table 53, takes 25)."""
    point = attacked(model, task, batch=2)
    start = matching(steps=1)(point.observations, Streams(0))
    later = matching(steps=20)(point.observations, Streams(0))
    assert all(claim.outcome.scored for claim in start + later)
    assert np.mean([claim.loss for claim in later]) < np.mean([claim.loss for claim in start])


@pytest.mark.parametrize("attack", [name for name in cases.ATTACKS if name not in TALLYING])  # those read no row
def test_the_same_seed_gives_the_same_claim(attack: str) -> None:
    protocol = FedSGD(batch_size=2, exposure=0, schedule=FIRST)
    knows = Knowledge(ranges=True, statistics=True)  # what the most demanding attack needs
    # pursuit weighs rows by gradients of their own, which a row in BatchNorm or dropout does not have
    population = cases.population("mlp_tableak" if attack == "pursuit" else "mlp_batchnorm_dropout")
    point = simulate(protocol, population, knows, Streams(2)).points[0]
    one, other, third = (cases.ATTACKS[attack](point.observations, Streams(seed)) for seed in (1, 1, 2))
    assert all((a.rows == b.rows).all() for a, b in zip(one, other, strict=True))
    if attack != "exact":  # what is read does not depend on where a search starts
        assert any((a.rows != b.rows).any() for a, b in zip(one, third, strict=True))


def test_fedavg_is_replayed() -> None:
    protocol = FedAvg(batch_size=2, local_rows=4, local_epochs=2, exposure=0, schedule=FIRST)
    point = simulate(protocol, cases.population("mlp"), Knowledge(), Streams(2)).points[0]
    short = matching(steps=1)(point.observations, Streams(0))
    longer = matching(steps=80)(point.observations, Streams(0))
    assert max(claim.loss or 9 for claim in longer) < 0.5 * min(claim.loss or 0 for claim in short)


def test_different_parameters_are_attacked_in_one_call() -> None:
    """Observations of different federations are stacked; each is matched against its own model."""
    one = attacked(batch=1).observations[0]
    other = dataclasses.replace(one, parameters={k: v + 0.01 for k, v in one.parameters.items()})
    x = matching(steps=300)([one, other], Streams(0))
    assert x[0].loss is not None
    assert x[0].loss < 1e-2
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
        point.observations, Streams(0), progress=lambda _, done, total, note: seen.append((done, total))
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
    claim = tableak_no_softmax().pooled(Runs(runs, np.array([0.5, np.inf, 0.4]), None, None), space)
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
    plain = dataclasses.replace(short, restorer="none")(point.observations, Streams(0))
    assert all(claim.labels is None for claim in plain)
    given = short(attacked("mlp_tableak", batch=8).observations, Streams(0))
    assert all(claim.labels is None for claim in given)  # nothing was worked out


@pytest.mark.parametrize(
    ("memory", "together"), [(0.05, 1), (2000.0, 3)], ids=["restarts in turns", "everything at once"]
)
def test_memory_changes_the_grouping_and_not_the_answer(memory: float, together: int) -> None:
    point = attacked("mlp_tableak", batch=4)
    attack = dataclasses.replace(tableak(), steps=30, restarts=5, compile="no")
    reference = attack(point.observations, Streams(3))
    bounded = dataclasses.replace(attack, memory=memory)
    groups = bounded._groups(dict(enumerate(point.observations)))
    assert max(len(group) for group in groups) == together
    for one, other in zip(bounded(point.observations, Streams(3)), reference, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-3)
        assert one.rows is not None
        assert other.rows is not None
        assert np.allclose(one.rows, other.rows, atol=1e-2)


def test_a_restart_that_no_longer_improves_stops() -> None:
    """Where the loss stands still, the rest of the steps is spared, and the rows are those of the lowest loss."""
    point = attacked("linear", batch=1)
    seen: list[int] = []
    constant = Adam(rate=0.06, schedule="constant")
    attack = dataclasses.replace(matching(5000), patience=100, optimiser=constant)
    claims = attack(point.observations, Streams(0), progress=lambda label, done, total, note: seen.append(done))
    assert len(seen) < 2500
    assert seen[-1] == 5000
    assert all(claim.outcome is Outcome.OK for claim in claims)


SLOW_TASKS = [task if task == "binary" else pytest.param(task, marks=pytest.mark.slow) for task in cases.TASKS]


@pytest.mark.parametrize("task", SLOW_TASKS)
def test_unknown_labels_as_variables_are_found_with_the_row(task: str) -> None:
    """DLG: the label of a single row comes out with the row."""
    point = attacked(task=task, batch=1, labels=False)
    claims = dataclasses.replace(dlg(), steps=1200, restarts=3)(point.observations, Streams(1))
    for claim, truth in zip(claims, point.truths, strict=True):
        assert claim.labels is not None
        if task != "regression":
            assert claim.labels.tolist() == truth.rows.target.tolist()
        else:
            assert claim.labels.shape == (1,)
            assert np.isfinite(claim.labels).all()


def test_lbfgs_moves_every_run_as_torch_moves_one() -> None:
    """All runs at once, in inner products, against torch.optim.LBFGS run by run; a stopped run does not move."""
    generator = torch.Generator().manual_seed(0)
    curvature = torch.linspace(1, 50, 12, dtype=torch.float64).reshape(3, 4)
    x = torch.randn(2, 3, 3, 4, generator=generator, dtype=torch.float64)
    begin, optimiser = x.clone(), LBFGS(history=4)
    state, moving = optimiser.begin(x), torch.ones(2, 3, 1, 1, dtype=torch.float64)
    moving[0, 0] = 0
    for number in range(1, 13):
        slope = 2 * curvature * x + 4 * x**3
        optimiser.move(x, slope, state, torch.tensor(optimiser.sizes(number, 12), dtype=torch.float64), moving)
    assert torch.equal(x[0, 0], begin[0, 0])
    for place in ((0, 1), (0, 2), (1, 0), (1, 1), (1, 2)):
        alone = begin[place].clone().requires_grad_()
        reference = torch.optim.LBFGS([alone], max_iter=12, history_size=4, tolerance_grad=0, tolerance_change=0)

        def loss(alone: torch.Tensor = alone) -> torch.Tensor:
            alone.grad = None
            value = (curvature * alone.square() + alone**4).sum()
            value.backward()
            return value

        reference.step(loss)
        assert torch.allclose(x[place], alone.detach(), atol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"compile": "maybe"}, "yes"),
        ({"targets": "jointt"}, "joint"),
        ({"restorer": "gang"}, "geng"),
        ({"polish": 1.0}, "below 1"),
        ({"patience": -1}, "patience"),
        ({"memory": 0.0}, "memory"),
        ({"device": "cuda:77"}, "cannot be used"),
        ({"priors": (GroupConsistency(),)}, "at least 2"),
        ({"initial": FromMarginals()}, "softmax"),
    ],
)
def test_contradicting_or_unknown_parts_stop_before_any_work(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataclasses.replace(gradient_matching(), **change)  # type: ignore[arg-type]


def test_a_prior_without_anything_to_hold_on_to_is_not_applicable() -> None:
    point = attacked("mlp", batch=2)
    claims = dataclasses.replace(gradinversion_bn(), steps=2)(point.observations, Streams(0))
    assert {claim.outcome for claim in claims} == {Outcome.NOT_APPLICABLE}
    assert "BatchNorm" in claims[0].note


def test_a_model_without_a_path_to_its_inputs_is_refused() -> None:
    class Rounded(torch.nn.Module):
        def __init__(self, inner: torch.nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.inner(x.detach().round())
            return result

    one = attacked("linear", batch=1).observations[0]
    learner = Learner(Rounded(one.learner.module), "binary")
    renamed = {f"inner.{name}": value for name, value in one.update.items()}
    broken = dataclasses.replace(one, learner=learner, parameters=learner.initial(), update=renamed)
    with pytest.raises(InputError, match="differentiable"):
        matching(steps=2)([broken], Streams(0))


@pytest.mark.parametrize("label", [-1, 2])
def test_labels_outside_the_classes_are_refused(label: int) -> None:
    one = attacked("mlp", batch=2).observations[0]
    odd = dataclasses.replace(one, labels=torch.tensor([0, label]))
    with pytest.raises(InputError, match=f"A label is {label}; the model has 2 classes, 0 to 1"):
        matching(steps=2)([odd], Streams(0))


def test_compiling_is_decided_by_the_work_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work is compiled where there is a compiler, short work is not; nothing is compiled when told so."""
    asked: list[bool] = []
    recorded = engine.recorded_step

    def listening(attack: Inversion, *rest: object) -> object:
        asked.append(attack.compile == "yes")
        return recorded(dataclasses.replace(attack, compile="no"), *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "recorded_step", listening)
    monkeypatch.setattr(engine, "can_compile", lambda: True)
    point = attacked("linear", batch=1)
    for setting, limit, expected in (("auto", 0.0, True), ("auto", 1e9, False), ("no", 0.0, False)):
        asked.clear()
        monkeypatch.setattr(engine, "LONG", limit)
        dataclasses.replace(matching(60), compile=setting)(point.observations, Streams(0))
        assert any(asked) == expected, setting


@pytest.mark.slow
def test_a_compiled_step_gives_the_same_rows() -> None:
    point = attacked("mlp", batch=2)
    attack = dataclasses.replace(tableak(), steps=30, restarts=2)
    plain, compiled = (
        dataclasses.replace(attack, compile=setting)(point.observations, Streams(0)) for setting in ("no", "yes")
    )
    for one, other in zip(plain, compiled, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-2)
