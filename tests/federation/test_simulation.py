from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.data import IID, split
from seepage.federation import Automatic, Clients, FedAvg, FedSGD, Milestones, make_population, simulate
from seepage.federation.utility import utility
from seepage.observation import Knowledge
from tests import cases
from tests.reference import local_training

STREAMS = Streams(1)


@pytest.mark.parametrize("protocol", cases.PROTOCOLS)
def test_observed_updates_are_those_of_the_true_rows(protocol: str) -> None:
    """What the server sees is what the client's attacked rows produce (the order of later passes apart)."""
    population = cases.population("mlp")
    trace = simulate(cases.PROTOCOLS[protocol], population, Knowledge(), STREAMS)
    assert [point.moment.name for point in trace.points] == ["initialized", "final"]
    for point in trace.points:
        for observation, truth in zip(point.observations, point.truths, strict=True):
            x = torch.from_numpy(truth.encoder.encode(truth.rows, truth.statistics))
            y = torch.from_numpy(truth.rows.target)
            exchange = observation.exchange
            assert observation.labels is not None
            assert (observation.labels == y.sort().values).all()
            if exchange.protocol == "fedsgd":
                expected = population.learner.gradient(observation.parameters, x, y)
            elif exchange.local_epochs == 1:
                steps = x.reshape(-1, exchange.batch_size, x.shape[1]), y.reshape(-1, exchange.batch_size)
                expected = local_training(population.learner, observation.parameters, *steps, exchange.learning_rate)
            else:
                assert exchange.steps == exchange.rows // exchange.batch_size * exchange.local_epochs
                continue
            for name, value in expected.items():
                torch.testing.assert_close(observation.update[name], value, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
def test_vectorised_clients_equal_a_loop(protocol: str) -> None:
    """The profiling study, Table 58: updates within 2.38e-07; the bound is 1e-6."""
    chosen = cases.PROTOCOLS[protocol]
    population = cases.population("mlp")
    batches = [chosen.work(rows, STREAMS.numpy("batches", client)) for client, rows in enumerate(population.owned)]
    plans = {client: next(each) for client, each in enumerate(batches)}
    parameters = population.learner.initial()
    together = Clients(chosen, population)(parameters, plans)
    for client, plan in plans.items():
        places = torch.from_numpy(plan)
        x, y = population.x[places], population.y[places]
        if protocol == "fedsgd":
            alone = population.learner.gradient(parameters, x[0], y[0])
        else:
            alone = local_training(population.learner, parameters, x, y, 0.01)
        for name, value in together.of_client(client).items():
            assert (value - alone[name]).abs().max() <= 1e-6


def test_fedsgd_server_takes_the_unweighted_mean() -> None:
    protocol = FedSGD(learning_rate=0.5)
    parameters = {"w": torch.zeros(2)}
    updates = [{"w": torch.tensor([[1.0, 0.0], [3.0, 0.0]])}, {"w": torch.tensor([[2.0, 6.0]])}]
    assert protocol.aggregate(parameters, updates, [1, 1, 100])["w"].tolist() == [-1.0, -1.0]


def test_fedavg_server_weighs_by_rows() -> None:
    parameters = {"w": torch.zeros(2)}
    updates = [{"w": torch.tensor([[1.0, 0.0], [3.0, 0.0]])}, {"w": torch.tensor([[2.0, 8.0]])}]
    result = FedAvg().aggregate(parameters, updates, [1, 1, 2])["w"]
    torch.testing.assert_close(result, torch.tensor([2.0, 4.0]))


def test_a_pass_uses_every_row_once_and_drops_the_incomplete_batch() -> None:
    rows = np.arange(100, 111)
    work = FedSGD(batch_size=4).work(rows, STREAMS.numpy("x"))
    for _ in range(5):
        seen = np.concatenate([next(work).reshape(-1) for _ in range(2)])
        assert len(set(seen)) == 8
        assert set(seen) <= set(rows)


def test_fedavg_works_on_a_fixed_local_set() -> None:
    work = FedAvg(batch_size=4, local_rows=8, local_epochs=3).work(np.arange(50), STREAMS.numpy("x"))
    rounds = [next(work) for _ in range(4)]
    local = set(rounds[0].reshape(-1))
    assert len(local) == 8
    for plan in rounds:
        assert plan.shape == (6, 4)
        assert all(set(one.reshape(-1)) == local for one in plan.reshape(3, 8))


def test_a_client_may_keep_the_order_of_its_rows_over_local_epochs() -> None:
    work = FedAvg(batch_size=4, local_rows=8, local_epochs=3, same_order=True).work(np.arange(50), STREAMS.numpy("x"))
    for plan in (next(work) for _ in range(3)):
        first, *others = plan.reshape(3, 2, 4)
        assert all((other == first).all() for other in others)


def test_a_client_with_no_rows_beside_its_local_ones_scales_with_these_alone() -> None:
    made, encoder = cases.learner("linear")
    splits = split(cases.table(), STREAMS.numpy("split"))
    small = make_population(splits, IID(clients=3), encoder, made, STREAMS.numpy("partition"), largest=8)
    assert small.sizes == (8, 8, 8)
    numeric = encoder.layout.numeric
    for rows in small.owned:
        x = small.x[torch.from_numpy(rows), :numeric]
        assert torch.allclose(x.mean(0), torch.zeros(numeric), atol=1e-5)
        assert torch.allclose(x.std(0, unbiased=False), torch.ones(numeric), atol=1e-4)


def test_a_regression_target_may_stay_as_it_is() -> None:
    made, encoder = cases.learner("linear", "regression")
    splits = split(cases.table("regression"), STREAMS.numpy("split"))
    raw = make_population(splits, IID(clients=3), encoder, made, STREAMS.numpy("partition"), scale_target=False)
    assert raw.target_scale == 1
    assert sorted(raw.y.tolist()) == pytest.approx(sorted(splits.train.target.tolist()), rel=1e-6)


def test_clients_of_unequal_size_are_grouped_not_padded() -> None:
    population = cases.population("linear")
    owned = (population.owned[0][:20], population.owned[1][:20], population.owned[2][:12])
    uneven = dataclasses.replace(population, owned=owned)
    chosen = FedAvg(batch_size=4, local_rows=None)
    plans = {c: next(chosen.work(rows, STREAMS.numpy(c))) for c, rows in enumerate(uneven.owned)}
    done = Clients(chosen, uneven)(population.learner.initial(), plans)
    assert done.groups == [[0, 1], [2]]
    assert done.of_client(2)["weight"].shape == population.learner.initial()["weight"].shape


def test_fixed_batch_attacks_the_same_rows_everywhere() -> None:
    trace = simulate(cases.PROTOCOLS["fedsgd_fixed_batch"], cases.population(), Knowledge(), STREAMS)
    first, last = trace.points
    for one, other in zip(first.truths, last.truths, strict=True):
        assert (one.rows.numbers == other.rows.numbers).all()
    resampled = simulate(cases.PROTOCOLS["fedsgd"], cases.population(), Knowledge(), STREAMS).points
    assert (resampled[0].truths[0].rows.numbers != resampled[1].truths[0].rows.numbers).any()


def test_same_seed_same_trace() -> None:
    for name in ("mlp", "mlp_batchnorm_dropout"):
        one, other = (
            simulate(cases.PROTOCOLS["fedsgd"], cases.population(name), Knowledge(), Streams(4)) for _ in "ab"
        )
        for a, b in zip(one.points, other.points, strict=True):
            assert all(
                (a.observations[0].update[k] == b.observations[0].update[k]).all() for k in a.observations[0].update
            )
        assert one.test == other.test


def test_labels_stay_hidden_from_an_attacker_who_is_not_given_them() -> None:
    trace = simulate(cases.PROTOCOLS["fedsgd"], cases.population(), Knowledge(labels=False), STREAMS)
    assert all(observation.labels is None for observation in trace.points[0].observations)


@pytest.mark.parametrize("task", cases.TASKS)
def test_training_improves_the_validation_loss_and_scores_fit_the_task(task: str) -> None:
    protocol = FedSGD(batch_size=4, exposure=10, learning_rate=0.05, schedule=Automatic(keep=("initialized", "final")))
    trace = simulate(protocol, cases.population("linear", task), Knowledge(), STREAMS)
    first, last = trace.points
    assert last.validation["loss"] < first.validation["loss"]
    scores = {
        "binary": {"accuracy", "f1", "roc_auc", "pr_auc"},
        "multiclass": {"accuracy", "precision_macro", "recall_macro", "f1_macro", "f1_weighted"},
        "regression": {"mse", "mae", "r2"},
    }
    assert set(trace.test) == {"loss"} | scores[task]
    assert trace.best_validation["loss"] <= min(point.validation["loss"] for point in trace.points)
    if task == "regression":  # in the target's own units: deviations of thousands
        assert trace.test["mae"] > 50


def test_exposure_of_points() -> None:
    protocol = FedSGD(batch_size=4, exposure=2, schedule=Milestones(exposures=(0, 1, 2)))
    points = simulate(protocol, cases.population(), Knowledge(), STREAMS).points
    assert [point.moment.exposure["min"] for point in points] == [0.0, 1.0, 2.0]
    # The attacked model is the one before the round: that is what its utility belongs to.
    assert [point.trained.round for point in points] == [point.moment.round - 1 for point in points]


def test_points_that_fall_on_one_round_are_all_there() -> None:
    protocol = FedSGD(batch_size=4, exposure=0)
    points = simulate(protocol, cases.population(), Knowledge(), STREAMS).points
    assert [point.moment.round for point in points] == [1] * 5


def test_a_model_that_diverged_has_no_utility() -> None:
    population = cases.population("linear")
    broken = {name: torch.full_like(value, torch.nan) for name, value in population.learner.initial().items()}
    scores = utility(population.learner, broken, *population.validation)
    assert all(value != value for value in scores.values())
    assert set(scores) == {"loss", "accuracy", "f1", "roc_auc", "pr_auc"}


def test_whole_numbers_may_be_known_without_ranges() -> None:
    trace = simulate(FedSGD(batch_size=2, exposure=0), cases.population("mlp"), Knowledge(whole=True), STREAMS)
    seen = trace.points[0].observations[0]
    assert seen.space.integers is not None
    assert seen.space.low is None
    assert "Which numbers are whole." in seen.describe().knows
    assert "The range of every number." in seen.describe().does_not_know


@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
def test_rounds_that_are_watched_come_with_the_update(protocol: str) -> None:
    population = cases.population("mlp")
    chosen = dataclasses.replace(cases.PROTOCOLS[protocol], fixed_batch=True, exposure=9.0)
    plain = simulate(chosen, population, Knowledge(), STREAMS)
    trace = simulate(chosen, population, Knowledge(), STREAMS, watched=(1, 3))
    assert [(point.moment.name, point.watched) for point in trace.points].count(("initialized", 3)) == 1
    assert [p.moment for p in trace.points if p.watched == 1] == [p.moment for p in plain.points]
    for point in trace.points:
        for observation in point.observations:
            assert len(observation.rounds) == point.watched
            assert observation.rounds[-1].earlier == ()
    (joined,) = [p for p in trace.points if (p.moment.name, p.watched) == ("initialized", 3)]
    assert joined.moment.round == 3
    first, second, _ = joined.observations[0].rounds
    for name, value in plain.points[0].observations[0].update.items():
        torch.testing.assert_close(first.update[name], value)
    assert any(not torch.equal(first.parameters[name], second.parameters[name]) for name in first.parameters)


def test_more_rounds_than_there_are_cannot_be_watched() -> None:
    with pytest.raises(InputError, match="so 5000 cannot be watched; raise its exposure"):
        simulate(cases.PROTOCOLS["fedsgd"], cases.population("mlp"), Knowledge(), STREAMS, watched=(5000,))
