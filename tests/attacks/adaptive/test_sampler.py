"""Draws against the posterior itself, where it can be written down."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from seepage._core import Streams
from seepage.attacks.adaptive.marginals import Marginals
from seepage.attacks.adaptive.posterior import draw
from seepage.attacks.adaptive.precision import precision_of
from seepage.attacks.adaptive.rows_gradient import RowsGradient, whole_in_factors
from seepage.data import Layout
from seepage.models import MLP, Learner, Linear, make_learner
from seepage.observation import Channel, Exchange, Observation, Space
from tests import cases

LABELS = torch.tensor([0, 1])


def random(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def seen(learner: Learner, space: Space, rows: torch.Tensor, channel: Channel) -> Observation:
    update = learner.gradient(learner.initial(), rows, LABELS[: len(rows)])
    draw = random(5)
    update = {name: value + channel.noise * torch.randn(value.shape, generator=draw) for name, value in update.items()}
    return Observation(
        learner=learner, space=space, parameters=learner.initial(), update=update, labels=LABELS[: len(rows)],
        exchange=Exchange(protocol="fedsgd", rows=len(rows), batch_size=len(rows), channel=channel),
    )  # fmt: skip


def log_likelihood(observation: Observation, rows: torch.Tensor) -> float:
    """The slow way: the whole gradient, entry by entry."""
    learner, channel = observation.learner, observation.exchange.channel
    simulated = learner.gradient(observation.parameters, rows, LABELS[: len(rows)])
    gaps = sum(float((observation.update[name] - value).square().sum()) for name, value in simulated.items())
    return -gaps / (2 * channel.noise**2)


def test_categories_have_the_probabilities_of_the_posterior() -> None:
    layout = Layout(0, (3, 2))
    learner = make_learner(MLP(width=6, depth=1), 0, layout.sizes, "binary", 2, seed=3)
    space = Space(layout=layout)
    marginals = Marginals.of(space)
    choices = list(itertools.product(range(3), range(2)))
    every = torch.stack([torch.cat([marginals.codes[0][a], marginals.codes[1][b]]) for a, b in choices])
    observation = seen(learner, space, every[[1, 4]], Channel(noise=0.2))
    pairs = list(itertools.product(range(6), repeat=2))
    logs = torch.tensor([log_likelihood(observation, every[list(pair)]) for pair in pairs])
    weights = logs.softmax(0)
    true = sum(weight * every[list(pair)] for weight, pair in zip(weights, pairs, strict=True))
    assert float(weights.max()) < 0.9  # else there is nothing to average
    starts = marginals.rows((100, 2), random()).numpy()
    (found,) = draw([observation], [(starts, LABELS)], [1.0] * 100, Streams(1), sweeps=20)
    np.testing.assert_allclose(found.chances.mean(0), np.asarray(true), atol=0.06)


def test_a_number_has_the_posterior_of_an_integral() -> None:
    layout = Layout(1, ())
    learner = make_learner(Linear(), 1, (), "binary", 2, seed=3)
    space = Space(layout=layout)
    observation = seen(learner, space, torch.tensor([[1.2]]), Channel(noise=0.2))
    grid = torch.linspace(-5, 5, 2001)
    logs = torch.tensor([log_likelihood(observation, value.reshape(1, 1)) for value in grid]) - grid**2 / 2
    weights = logs.softmax(0)
    mean = float((weights * grid).sum())
    deviation = float((weights * (grid - mean) ** 2).sum() ** 0.5)
    starts = Marginals.of(space).rows((150, 1), random()).numpy()
    (found,) = draw([observation], [(starts, LABELS[:1])], [1.0] * 150, Streams(1), sweeps=40)
    assert found.numbers.mean() == pytest.approx(mean, abs=0.1)
    assert found.numbers.std() == pytest.approx(deviation, abs=0.1)


@pytest.mark.parametrize("clip", [0.0, 0.05])
def test_rows_gradients_add_up_to_the_clients(clip: float) -> None:
    population = cases.population("mlp")
    learner, x, y = population.learner, population.x[:4], population.y[:4]
    gradient = RowsGradient(learner, learner.initial(), x.shape[1], clip)
    whole = [torch.einsum("bo,bi->oi", *pair) / 4 for pair in gradient(x, y)]
    if clip:
        from seepage.defenses.dp_sgd import clipped_sums

        alone = {name: value[None] for name, value in learner.initial().items()}
        sent = {name: v[0] / 4 for name, v in clipped_sums(learner, alone, x[None], y[None], clip).items()}
    else:
        sent = learner.gradient(learner.initial(), x, y)
    for one, other in zip(whole, gradient.observed({name: value[None] for name, value in sent.items()}), strict=True):
        torch.testing.assert_close(one, other[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["mlp", "mlp_tableak"])
def test_written_out_passes_give_the_gradients_of_differentiation(name: str) -> None:
    population = cases.population(name)
    learner, x, y = population.learner, population.x[:5], population.y[:5]
    gradient = RowsGradient(learner, learner.initial(), x.shape[1])
    written, differentiated = gradient._written_out(x, y), gradient._differentiated()(x, y)
    assert len(written) == len(differentiated) > 0
    for ours, theirs in zip(written, differentiated, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_models_whose_rows_have_no_part_of_their_own_are_told() -> None:
    assert not whole_in_factors(cases.learner("mlp")[0], cases.population("mlp").x.shape[1])
    for name in ("ft_transformer", "tabnet", "mlp_batchnorm_dropout"):
        assert whole_in_factors(cases.learner(name)[0], cases.population(name).x.shape[1])


def test_marginals_have_the_mean_the_deviation_and_the_range() -> None:
    layout = Layout(2, (3,))
    space = Space(
        layout=layout, standardised=True, shift=torch.tensor([10.0, 1.0, 0.7, 0.2, 0.1]),
        scale=torch.tensor([2.0, 8.0, 0.4, 0.4, 0.3]), low=torch.tensor([0.0, 0.0]), high=torch.tensor([30.0, 100.0]),
    )  # fmt: skip
    marginals = Marginals.of(space)
    for place in range(2):
        values = marginals.numbers(place, (20000,), random())
        assert values.mean().item() == pytest.approx(0.0, abs=0.05)
        assert values.std().item() == pytest.approx(1.0, abs=0.1)
        assert marginals.low[place] <= values.min()
        assert values.max() <= marginals.high[place]
        outside = torch.stack([marginals.low[place] - 1, marginals.high[place] + 1])
        assert (marginals.log_density(place, outside) == -torch.inf).all()
    rows = marginals.rows((4000, 2), random())
    raw = rows[..., 2:] * space.scale[2:] + space.shift[2:]  # type: ignore[index]
    torch.testing.assert_close(raw.sum(-1), torch.ones(4000, 2), atol=1e-4, rtol=0)
    torch.testing.assert_close(raw.mean((0, 1)), space.shift[2:], atol=0.03, rtol=0)  # type: ignore[index]


def test_entries_are_as_sure_as_the_channel_says() -> None:
    sent = {"w": torch.tensor([[0.0, 0.5, -2.0, 0.0]]), "b": torch.tensor([[0.0, 8.0]])}
    even = precision_of(Channel(noise=0.1), sent, 1.0, 4)
    torch.testing.assert_close(even["w"], torch.full((1, 4), 100.0), rtol=1e-2, atol=0)
    assert precision_of(Channel(noise=0.1), sent, 10.0, 4)["w"][0, 0] == pytest.approx(1.0, rel=1e-2)
    assert precision_of(Channel(row_noise=0.4), sent, 1.0, 4)["w"][0, 0] == pytest.approx(100.0, rel=1e-2)
    absent = precision_of(Channel(missing="zeros"), sent, 1.0, 4)["w"][0]
    assert absent[0] == absent[3] == 0
    assert absent[1] > 1e3
    small = precision_of(Channel(missing="smallest"), sent, 1.0, 4)
    assert small["b"][0, 0] == pytest.approx(3 / 0.5**2, rel=1e-2)
    assert precision_of(Channel(missing="smallest_of_tensor"), sent, 1.0, 4)["b"][0, 0] == pytest.approx(
        3 / 8.0**2, rel=1e-2
    )
    grid = precision_of(Channel(levels=4), sent, 1.0, 4)
    assert grid["w"][0, 1] == pytest.approx(12 / 0.5**2, rel=1e-2)
    assert grid["b"][0, 1] == pytest.approx(12 / 2.0**2, rel=1e-2)
    signs = precision_of(Channel(signs=True), {"w": torch.tensor([[2.0, -2.0]])}, 1.0, 4)
    assert signs["w"][0, 0] == pytest.approx(1 / 16, rel=1e-2)
    plain, at_random = (precision_of(Channel(step=0.1, dithered=each), sent, 1.0, 4)["w"][0, 0] for each in (0, 1))
    assert plain == pytest.approx(4 * float(at_random), rel=1e-1)
