"""What the profiling study's public code does and its text does not say."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from seepage._core import Streams
from seepage.attacks.inversion import profiling, profiling_simplex
from seepage.attacks.inversion.categories import CutSimplex
from seepage.attacks.inversion.optimisers.schedules import SCHEDULES
from seepage.attacks.inversion.starts import Coded
from seepage.attacks.inversion.stepping import stacked
from seepage.federation import Automatic, FedAvg, FedSGD, simulate
from seepage.observation import Knowledge, Observation
from tests import cases

FIRST = Automatic(keep=("initialized",))


def observed(model: str, *, same_order: bool = False, epochs: int = 1) -> tuple[Observation, ...]:
    if epochs == 1:
        protocol = FedSGD(batch_size=4, exposure=0, schedule=FIRST)
        return simulate(protocol, cases.population(model), Knowledge(), Streams(2)).points[0].observations
    local = FedAvg(batch_size=2, local_rows=4, local_epochs=epochs, exposure=0, schedule=FIRST, same_order=same_order)
    return simulate(local, cases.population(model), Knowledge(), Streams(2)).points[0].observations


def test_the_step_size_falls_to_a_tenth() -> None:
    tenth = SCHEDULES["tenth"]
    assert tenth(1, 100) == 1
    assert tenth(101, 100) == pytest.approx(0.1)


def test_embedded_categories_start_at_one_category_mostly_the_first() -> None:
    observation = observed("ft_transformer")[0]
    x = Coded()((2000, 3, observation.layout.width), observation, torch.Generator().manual_seed(1))
    firsts = []
    for block in observation.layout.blocks:
        part = x[..., block]
        assert set(part.unique().tolist()) == {-5.0, 5.0}
        assert ((part == 5).sum(-1) == 1).all()
        firsts.append(float((part[..., 0] == 5).float().mean()))
    assert firsts == pytest.approx([0.841] * len(firsts), abs=0.02)  # how often a normal draw is below 1
    assert float(x[..., : observation.layout.numeric].std()) == pytest.approx(1, abs=0.05)


def test_without_embeddings_the_start_is_gaussian() -> None:
    observation = observed("mlp")[0]
    x = Coded()((500, 3, observation.layout.width), observation, torch.Generator().manual_seed(1))
    assert float(x.std()) == pytest.approx(1, abs=0.05)


def test_the_simplex_cuts_negative_entries_off() -> None:
    mixed = CutSimplex()(torch.tensor([[1.0, 3.0, -2.0, -1.0, -1.0]]), (3, 2))
    torch.testing.assert_close(mixed, torch.tensor([[0.25, 0.75, 0.0, 0.5, 0.5]]))


@pytest.mark.parametrize("attack", [profiling(), profiling_simplex()], ids=["logits", "simplex"])
def test_the_own_loss_falls(attack: object) -> None:
    seen = observed("ft_transformer")
    short, long = (replace(attack, steps=steps)(seen, Streams(0)) for steps in (1, 60))  # type: ignore[type-var]
    assert all(after.loss < before.loss for after, before in zip(long, short, strict=True))


def test_a_client_that_keeps_its_order_is_replayed_with_one_set_of_rows() -> None:
    """The true rows are a solution: replayed in their order, they give the observed update."""
    population = cases.population("mlp")
    protocol = FedAvg(batch_size=2, local_rows=4, local_epochs=3, exposure=0, schedule=FIRST, same_order=True)
    point = simulate(protocol, population, Knowledge(), Streams(2)).points[0]
    scene = profiling().scene(point.observations)
    assert scene.sets == 1
    evaluate = profiling().problem(scene).evaluation(lambda function: function)
    rows = [truth.encoder.encode(truth.rows, truth.statistics) for truth in point.truths]
    x = torch.stack([torch.from_numpy(each) for each in rows])[:, None]
    pairs = zip(point.observations, point.truths, strict=True)
    in_order = [
        replace(seen, labels=torch.from_numpy(truth.rows.target)) for seen, truth in pairs
    ]  # an attack is not told
    losses, _ = evaluate(x, *stacked(in_order))
    assert float(losses.max()) < 1e-6


def test_a_client_that_shuffles_is_replayed_with_a_set_for_every_epoch() -> None:
    assert profiling().scene(observed("mlp", epochs=3)).sets == 3
