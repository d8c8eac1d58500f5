"""What is told of all rows together: at any number of rows, for any optimiser, and never wrongly."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from seepage._core import InputError, NotApplicable, Streams
from seepage.attacks import attacked
from seepage.attacks.totals import Counting, Listing
from seepage.defenses import DPSGD, Defense, GaussianNoise, TopK, Undefended
from seepage.federation import AttackPoint, Automatic, FedAvg, FederatedProtocol, FedSGD, Truth, simulate
from seepage.metrics import Evaluator, Reference
from seepage.models import LocalTraining
from seepage.models.optimisers import SGD, Adam, adamw
from seepage.observation import Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, Measure
from tests import cases

TRAININGS = {
    "sgd": LocalTraining(),
    "momentum and decay": LocalTraining(optimiser=SGD(momentum=0.9, nesterov=True, weight_decay=0.05)),
    "adam": LocalTraining(optimiser=Adam(), schedule="cosine", clip=0.5),
    "adam with decay": LocalTraining(optimiser=Adam(weight_decay=0.05)),
    "adamw": LocalTraining(optimiser=adamw()),
    "fedprox": LocalTraining(proximal=0.1),
}


def point(
    protocol: FederatedProtocol, model: str = "mlp", defense: Defense | None = None, *, labels: bool = True
) -> AttackPoint:
    knowledge = Knowledge(labels=labels)
    return simulate(protocol, cases.population(model), knowledge, Streams(3), defense=defense or Undefended()).points[
        -1
    ]


def trained(training: LocalTraining) -> FedAvg:
    return FedAvg(
        batch_size=4, local_rows=8, local_epochs=2, learning_rate=0.01, training=training, exposure=2,
        schedule=Automatic(keep=("final",)),
    )  # fmt: skip


def true_presence(truth: Truth) -> list[np.ndarray]:
    columns = truth.rows.schema.categorical
    return [np.bincount(truth.rows.codes[:, j], minlength=len(c.categories)) > 0 for j, c in enumerate(columns)]


@pytest.mark.parametrize("model", ["mlp", "ft_transformer"])
@pytest.mark.parametrize("name", TRAININGS)
def test_presence_is_right_for_every_category_and_optimiser(name: str, model: str) -> None:
    seen = point(trained(TRAININGS[name]), model)
    absent = 0
    for claim, truth in zip(attacked(Listing(), seen.observations, Streams(0)), seen.truths, strict=True):
        assert claim.tally is not None
        for said, true in zip(claim.tally.present, true_presence(truth), strict=True):
            assert said.tolist() == true.astype(int).tolist()
            absent += int((~true).sum())
    assert absent > 0  # or nothing was shown


@pytest.mark.parametrize("defense", [GaussianNoise(deviation=0.001), TopK(share=0.3), DPSGD(noise=0.1)], ids=repr)
def test_a_covered_update_is_never_read_wrongly(defense: Defense) -> None:
    seen = point(FedSGD(batch_size=8, exposure=0, schedule=Automatic(keep=("initialized",))), "mlp_tableak", defense)
    assert all(observation.exchange.covered for observation in seen.observations)
    for claim, truth in zip(attacked(Listing(), seen.observations, Streams(0)), seen.truths, strict=True):
        if claim.tally is None:
            assert "noise" in claim.note
            continue
        for said, true in zip(claim.tally.present, true_presence(truth), strict=True):
            assert not ((said == 1) & ~true).any()
            assert not ((said == 0) & true).any()


def test_standardised_one_hot_inputs_hide_who_is_at_rest() -> None:
    seen = point(trained(LocalTraining(optimiser=Adam())))
    space = dataclasses.replace(seen.observations[0].space, standardised=True)
    hidden = dataclasses.replace(seen.observations[0], space=space)
    with pytest.raises(NotApplicable):
        attacked(Listing(), [hidden], Streams(0))


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_counts_add_up_and_lie_in_their_intervals(name: str) -> None:
    seen = point(trained(TRAININGS[name]), labels=False)
    covered = []
    for claim, truth in zip(attacked(Counting(clients=24), seen.observations, Streams(0)), seen.truths, strict=True):
        assert claim.tally is not None
        assert claim.tally.counts is not None
        assert claim.tally.labels is not None
        for place, said in enumerate(claim.tally.counts):
            true = np.bincount(truth.rows.codes[:, place], minlength=len(said.middle))
            assert (said.low <= said.middle).all()
            assert (said.middle <= said.high).all()
            assert (said.high[true == 0] == 0).all()  # nobody has them, and the attacker knows
            covered += ((true >= said.low - 0.5) & (true <= said.high + 0.5)).tolist()
    assert np.mean(covered) > 0.85


def test_means_are_told_where_the_scaling_is_shared() -> None:
    population = cases.population("mlp")
    seen = simulate(trained(TRAININGS["sgd"]), population, Knowledge(statistics=True), Streams(3)).points[-1]
    inside = []
    for claim, truth in zip(attacked(Counting(clients=24), seen.observations, Streams(0)), seen.truths, strict=True):
        assert claim.tally is not None
        said = claim.tally.means
        assert said is not None
        true = truth.encoder.encode(truth.rows, truth.statistics)[:, : len(said.middle)].mean(0)
        inside += ((true >= said.low) & (true <= said.high)).tolist()
    assert np.mean(inside) > 0.8
    own = point(trained(TRAININGS["sgd"])).observations[:1]
    (without,) = attacked(Counting(clients=12), own, Streams(0))
    assert without.tally is not None
    assert without.tally.means is None  # a client's own scaling makes them zero


def test_the_same_updates_give_the_same_counts() -> None:
    seen = point(trained(TRAININGS["sgd"]))
    one, other = (attacked(Counting(clients=12), seen.observations[:1], Streams(4))[0] for _ in range(2))
    assert one.tally is not None
    assert other.tally is not None
    assert one.tally.counts is not None
    assert other.tally.counts is not None
    for first, second in zip(one.tally.counts, other.tally.counts, strict=True):
        np.testing.assert_array_equal(first.middle, second.middle)


def test_numbers_alone_have_no_categories() -> None:
    seen = point(trained(LocalTraining())).observations[0]
    layout = dataclasses.replace(seen.space.layout, sizes=())
    scene = dataclasses.replace(seen.scene, space=dataclasses.replace(seen.space, layout=layout))
    for attack in (Listing(), Counting()):
        with pytest.raises(NotApplicable, match="categorical"):
            attack.start(scene, Streams(0))


def test_too_few_made_up_clients_are_one_sentence() -> None:
    with pytest.raises(InputError, match="12 to 10,000"):
        Counting(clients=3)


def test_the_measures_of_a_tally() -> None:
    seen = point(trained(TRAININGS["adam"]))
    (claim,) = attacked(Counting(clients=12), seen.observations[:1], Streams(0))
    truth = seen.truths[0]
    evaluator = Evaluator(training=Reference.of(truth.client_rows))
    values = evaluator(claim, truth, Knowledge(), np.random.default_rng(0))
    assert values[Measure(ATTACK, ALL_COLUMNS, "presence")] == 1.0
    assert values[Measure(ATTACK, ALL_COLUMNS, "presence_wrong")] == 0.0
    assert 0 <= values[Measure(ATTACK, ALL_COLUMNS, "count_error")] <= 1
    # The guess knows the client's own shares here, so it is off by the draw of the local rows alone.
    assert values[Measure("public", ALL_COLUMNS, "count_error")] < 0.6
    assert Measure(ATTACK, ALL_COLUMNS, "accuracy") not in values
