"""Restored labels against the true ones, on the tiny models and on clinic."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest
import torch

from seepage._core import InputError, Outcome, Streams
from seepage.attacks.labels import IDLG, RESTORERS, Counts, Geng, Regression, Restored, Yin
from seepage.attacks.labels.draws import plausible_rows
from seepage.attacks.labels.head import output_layer
from seepage.attacks.labels.rounding import whole_counts
from seepage.data import IID, Encoder, Layout, Table, clinic, infer_schema, split
from seepage.federation import Automatic, FedAvg, FederatedProtocol, FedSGD, Population, make_population, simulate
from seepage.models import Learner, make_learner
from seepage.observation import Knowledge, Observation, Space
from tests import cases

FIRST, LAST = Automatic(keep=("initialized",)), Automatic(keep=("final",))
WITH_BIAS = [name for name in cases.MODELS if name != "tabnet"]


def observed(protocol: FederatedProtocol, population: Population, seed: int = 2) -> tuple[Observation, ...]:
    """Observations that still carry the true labels; the restorers do not look at them (tested below)."""
    return simulate(protocol, population, Knowledge(labels=True), Streams(seed)).points[-1].observations


def tiny(model: str, task: str, batch: int) -> tuple[Observation, ...]:
    return observed(FedSGD(batch_size=batch, exposure=0, schedule=FIRST), cases.population(model, task))


@cache
def hospital(model: str, positive_weight: float = 1.0) -> Population:
    """Clinic over 20 clients, so that one round gives 20 batches."""
    frame = clinic(4000)
    table = Table.from_frame(frame, infer_schema(frame, "died", task="binary"))
    architecture = cases.MODELS[model]
    encoder = Encoder(schema=table.schema, categories=architecture.encoding)
    layout, streams = encoder.layout, Streams(7)
    learner = make_learner(
        architecture, layout.numeric, layout.sizes, "binary", 2, seed=7, positive_weight=positive_weight
    )
    parts = split(table, streams.numpy("split"))
    return make_population(parts, IID(clients=20), encoder, learner, streams.numpy("partition"))


def wrong(observations: tuple[Observation, ...], restored: list[Restored]) -> np.ndarray:
    """Wrong labels of each batch."""
    errors = []
    for observation, answer in zip(observations, restored, strict=True):
        assert answer.outcome is Outcome.OK
        assert answer.labels is not None
        assert observation.labels is not None
        assert answer.labels.dtype == torch.int64
        assert len(answer.labels) == observation.exchange.rows
        assert (answer.labels.diff() >= 0).all()
        gap = torch.bincount(observation.labels, minlength=9) - torch.bincount(answer.labels, minlength=9)
        errors.append(int(gap.abs().sum()) // 2)
    return np.array(errors)


@pytest.mark.parametrize("restorer", [IDLG(), Counts()])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("model", WITH_BIAS)
def test_one_label_is_read_exactly(model: str, task: str, restorer: IDLG | Counts) -> None:
    """Also under dropout and BatchNorm."""
    observations = tiny(model, task, 1)
    restored = restorer(observations, Streams(0))
    assert all(answer.exact for answer in restored)
    assert wrong(observations, restored).sum() == 0


@pytest.mark.parametrize("steps", [1, 6])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_sign_survives_local_steps_on_one_row(task: str, steps: int) -> None:
    protocol = FedAvg(batch_size=1, local_rows=1, local_epochs=steps, learning_rate=0.1, exposure=0, schedule=FIRST)
    observations = observed(protocol, cases.population("mlp", task))
    assert wrong(observations, IDLG()(observations, Streams(0))).sum() == 0


def test_tabnet_has_no_bias() -> None:
    """Three classes: the signs of the weights tell. Two: only an estimate."""
    several = tiny("tabnet", "multiclass", 1)
    restored = IDLG()(several, Streams(0))
    assert all(answer.exact for answer in restored)
    assert wrong(several, restored).sum() == 0
    two = tiny("tabnet", "binary", 1)
    assert all(answer.outcome is Outcome.NOT_APPLICABLE for answer in IDLG()(two, Streams(0)))
    estimated = Counts()(two, Streams(0))
    assert not any(answer.exact for answer in estimated)
    assert all(answer.outcome is Outcome.OK for answer in estimated)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("model", cases.MODELS)
def test_counts_of_fresh_models(model: str, task: str) -> None:
    """Eight rows of the tiny table. TabNet has no bias and large first outputs, and so is harder."""
    observations = tiny(model, task, 8)
    errors = wrong(observations, Counts()(observations, Streams(0)))
    assert errors.max() <= (4 if model == "tabnet" else 1)
    assert wrong(observations, Geng()(observations, Streams(0))).mean() <= 4


@pytest.mark.parametrize("model", ["mlp", "mlp_tableak"])
@pytest.mark.parametrize(("batch", "right"), [(1, 20), (8, 19), (32, 18), (128, 14)])
def test_counts_on_clinic_at_the_start(model: str, batch: int, right: int) -> None:
    observations = observed(FedSGD(batch_size=batch, exposure=0, schedule=FIRST), hospital(model), 7)
    errors = wrong(observations, Counts()(observations, Streams(0)))
    assert (errors == 0).sum() >= right
    assert errors.max() <= 1
    assert errors.mean() <= wrong(observations, Geng()(observations, Streams(0))).mean()


@pytest.mark.parametrize("model", ["mlp", "mlp_tableak"])
def test_counts_on_clinic_after_training(model: str) -> None:
    protocol = FedSGD(batch_size=32, exposure=3, learning_rate=0.1, schedule=LAST)
    observations = observed(protocol, hospital(model), 7)
    errors = wrong(observations, Counts()(observations, Streams(0)))
    assert errors.mean() <= 2


@pytest.mark.parametrize(("model", "weight"), [("mlp", 10.0), ("mlp_tableak", 0.2), ("mlp_tableak", 10.0)])
def test_the_weight_of_the_positive_class_is_divided_out(model: str, weight: float) -> None:
    observations = observed(FedSGD(batch_size=32, exposure=0, schedule=FIRST), hospital(model, weight), 7)
    assert wrong(observations, Counts()(observations, Streams(0))).max() <= 1
    assert wrong(observations, Geng()(observations, Streams(0))).mean() <= 4


@pytest.mark.parametrize("epochs", [1, 5])
def test_fedavg_is_an_estimate(epochs: int) -> None:
    """The model moves during the local steps; the one in the middle of its way stands for them."""
    protocol = FedAvg(batch_size=8, local_rows=32, local_epochs=epochs, exposure=0, schedule=FIRST)
    observations = observed(protocol, hospital("mlp_tableak"), 7)
    restored = Counts()(observations, Streams(0))
    assert wrong(observations, restored).max() <= 1
    assert not any(answer.exact for answer in restored)
    assert all(f"{4 * epochs} local steps" in answer.note for answer in restored)


def test_yin_finds_distinct_labels() -> None:
    """Rows of distinct classes behind a ReLU; with more rows than classes it says that it cannot."""
    population = cases.population("mlp_tableak", "multiclass")
    learner, layout = population.learner, population.encoder.layout
    parameters = learner.initial()
    for labels in ([0, 1], [0, 2], [1, 2], [0], [2]):
        x = torch.stack([population.x[population.y == label][0] for label in labels])
        y = torch.tensor(labels)
        exchange = FedSGD().exchange(np.zeros((1, len(labels))))
        observation = Observation(
            learner=learner,
            space=Space(layout=layout),
            parameters=parameters,
            update=learner.gradient(parameters, x, y),
            exchange=exchange,
        )
        (answer,) = Yin()([observation], Streams(0))
        assert answer.labels is not None
        assert answer.labels.tolist() == labels
        assert not answer.exact
    (answer, *_) = Yin()(tiny("mlp", "binary", 4), Streams(0))
    assert answer.outcome is Outcome.NOT_APPLICABLE
    assert "as many rows as classes" in answer.note


@pytest.mark.parametrize("model", WITH_BIAS)
def test_one_regression_target_is_read_exactly(model: str) -> None:
    observations = tiny(model, "regression", 1)
    for observation, answer in zip(observations, Regression()(observations, Streams(0)), strict=True):
        assert answer.exact
        assert answer.labels is not None
        assert answer.labels.dtype == torch.float32
        assert observation.labels is not None
        assert torch.allclose(answer.labels, observation.labels, atol=1e-3)


@pytest.mark.parametrize("model", cases.MODELS)
def test_the_mean_target_is_restored(model: str) -> None:
    """The start has a mean error of a third of a deviation on `linear`, whose outputs vary most, and less elsewhere."""
    observations = tiny(model, "regression", 16)
    errors = []
    for observation, answer in zip(observations, Regression()(observations, Streams(0)), strict=True):
        assert answer.labels is not None
        assert observation.labels is not None
        assert not answer.exact
        assert answer.labels.shape == (16,)
        errors.append(abs(float(answer.labels.mean() - observation.labels.mean())))
    assert np.mean(errors) < {"tabnet": 2.0, "linear": 0.6}.get(model, 0.3)


def test_the_mean_target_from_fedavg() -> None:
    protocol = FedAvg(batch_size=4, local_rows=8, local_epochs=2, exposure=0, schedule=FIRST)
    observations = observed(protocol, cases.population("mlp", "regression"))
    for observation, answer in zip(observations, Regression()(observations, Streams(0)), strict=True):
        assert answer.labels is not None
        assert observation.labels is not None
        assert abs(float(answer.labels.mean() - observation.labels.mean())) < 0.5
        assert "4 local steps" in answer.note


LISTENING = [name for name in RESTORERS if name != "zeros"]  # it does not ask the update


@pytest.mark.parametrize("name", LISTENING)
@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_useless_updates_have_no_labels(name: str, value: float) -> None:
    good = tiny("mlp", "regression" if name == "regression" else "binary", 1)[0]
    bad = dataclasses.replace(good, update={key: torch.full_like(part, value) for key, part in good.update.items()})
    first, second = RESTORERS[name]()([good, bad], Streams(0))
    assert first.outcome is Outcome.OK
    assert second.outcome is Outcome.NOT_APPLICABLE
    assert second.labels is None
    assert "NaN" in second.note


@pytest.mark.parametrize("name", LISTENING)
def test_a_last_layer_that_was_not_sent_says_nothing(name: str) -> None:
    good = tiny("mlp", "regression" if name == "regression" else "binary", 1)[0]
    update = {key: torch.zeros_like(part) if key.startswith("6.") else part for key, part in good.update.items()}
    (answer,) = RESTORERS[name]()([dataclasses.replace(good, update=update)], Streams(0))
    assert answer.outcome is Outcome.NOT_APPLICABLE
    assert "last layer is zero" in answer.note


@pytest.mark.parametrize(("task", "kind"), [("binary", torch.int64), ("regression", torch.float32)])
def test_labels_that_nobody_asked_for_are_zero(task: str, kind: torch.dtype) -> None:
    (answer,) = RESTORERS["zeros"]()(tiny("mlp", task, 8)[:1], Streams(0))
    assert answer.labels is not None
    assert torch.equal(answer.labels, torch.zeros(8, dtype=kind))
    assert not answer.exact


def test_auto_takes_the_restorer_of_the_task() -> None:
    """Classes are counted, a single number is read; several numbers are left to the attack, and it says why."""
    classes, number, numbers = tiny("mlp", "binary", 8), tiny("mlp", "regression", 1), tiny("mlp", "regression", 8)
    auto = RESTORERS["auto"]()
    for one, other in zip(auto(classes, Streams(1)), RESTORERS["counts"]()(classes, Streams(1)), strict=True):
        assert one.labels is not None
        assert other.labels is not None
        assert torch.equal(one.labels, other.labels)
    assert all(answer.exact for answer in auto(number, Streams(1)))
    assert {answer.outcome for answer in auto(numbers, Streams(1))} == {Outcome.NOT_APPLICABLE}
    assert "several rows" in auto(numbers, Streams(1))[0].note


@pytest.mark.parametrize("name", [name for name in LISTENING if name != "auto"])
def test_the_wrong_task_is_not_applicable(name: str) -> None:
    observations = tiny("mlp", "binary" if name == "regression" else "regression", 1)
    assert all(answer.outcome is Outcome.NOT_APPLICABLE for answer in RESTORERS[name]()(observations, Streams(0)))


@pytest.mark.parametrize("name", RESTORERS)
def test_the_truth_is_not_looked_at_and_the_seed_decides(name: str) -> None:
    observations = tiny("mlp", "regression" if name == "regression" else "binary", 1 if name in ("idlg", "yin") else 8)
    blind = [dataclasses.replace(observation, labels=None) for observation in observations]
    restorer = RESTORERS[name]()
    for one, other in zip(restorer(observations, Streams(4)), restorer(blind, Streams(4)), strict=True):
        assert one.note == other.note
        assert one.labels is not None
        assert other.labels is not None
        assert torch.equal(one.labels, other.labels)


def test_idlg_needs_one_row() -> None:
    (answer, *_) = IDLG()(tiny("mlp", "binary", 4), Streams(0))
    assert answer.outcome is Outcome.NOT_APPLICABLE
    assert "this update has 4" in answer.note


def test_a_round_without_steps_is_not_applicable() -> None:
    protocol = FedAvg(batch_size=4, local_rows=8, exposure=0, schedule=FIRST)
    observation = observed(protocol, cases.population("mlp"))[0]
    still = dataclasses.replace(observation, exchange=dataclasses.replace(observation.exchange, learning_rate=0.0))
    (answer,) = Counts()([still], Streams(0))
    assert answer.outcome is Outcome.NOT_APPLICABLE
    assert "learning rate is 0" in answer.note


def test_a_model_that_does_not_end_in_a_linear_layer_is_noticed() -> None:
    ended = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    assert output_layer(Learner(ended, "binary"), 3) is None
    assert output_layer(Learner(torch.nn.Sequential(torch.nn.Flatten()), "binary"), 3) is None
    assert output_layer(Learner(torch.nn.Sequential(torch.nn.Linear(3, 2)), "binary"), 3) == "0"


def test_drawn_rows_are_valid() -> None:
    for embedded in (False, True):
        layout = Layout(2, (3, 4), embedded=embedded)
        rows = plausible_rows(Space(layout=layout), 500, Streams(0).numpy("rows"))
        for block in layout.blocks:
            assert (rows[:, block].sum(1) == 1).all()
            assert (rows[:, block.stop - 1] > 0).any() != embedded  # the unknown category is not drawn


def test_drawn_rows_follow_known_shares() -> None:
    """Standardised one-hot entries: the shift is the share, and the drawn inputs are standardised like the clients'."""
    share = torch.tensor([0.9, 0.1])
    shift, scale = torch.cat([torch.zeros(1), share]), torch.cat([torch.ones(1), (share * (1 - share)).sqrt()])
    rows = plausible_rows(Space(layout=Layout(1, (2,)), shift=shift, scale=scale), 2000, Streams(0).numpy("rows"))
    assert torch.allclose(rows.mean(0), torch.zeros(3), atol=0.1)
    assert torch.allclose(rows.std(0), torch.ones(3), atol=0.1)


def test_whole_counts_sum_to_the_rows() -> None:
    for seed in range(50):
        counts = torch.randn(4, generator=torch.Generator().manual_seed(seed)) * 20
        whole = whole_counts(counts, 17)
        assert whole.sum() == 17
        assert (whole >= 0).all()
    assert whole_counts(torch.tensor([3.0, 5.0]), 8).tolist() == [3, 5]


def test_bad_settings_are_one_sentence() -> None:
    for make in (lambda: Counts(draws=1), lambda: Counts(shift=-1), lambda: Geng(draws=0), lambda: Regression(draws=0)):
        with pytest.raises(InputError, match="needed"):
            make()
