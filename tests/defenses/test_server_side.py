"""Noise that a server adds hides nothing from it; the next model pays for it all the same."""

from __future__ import annotations

import math

import pytest
import torch

from seepage._core import Streams
from seepage.data import IID, Encoder, split
from seepage.defenses import Defense, DPFedAvg, UpdateClipping
from seepage.federation import Automatic, FedSGD, Trace, make_population, simulate
from seepage.models import MLP, make_learner
from seepage.observation import Knowledge
from tests import cases

CLIP = 0.05


def trained(defense: Defense) -> Trace:
    """A short federation that is looked at before training and at its end."""
    table = cases.table(rows=120)
    encoder = Encoder(schema=table.schema)
    layout = encoder.layout
    learner = make_learner(MLP(width=8), layout.numeric, layout.sizes, "binary", 2, seed=5)
    streams = Streams(3)
    splits = split(table, streams.numpy("split"))
    population = make_population(splits, IID(clients=3), encoder, learner, streams.numpy("partition"))
    protocol = FedSGD(batch_size=4, exposure=1, schedule=Automatic(keep=("initialized", "final")))
    return simulate(protocol, population, Knowledge(), streams, defense=defense)


def test_the_server_sees_clipped_updates_without_its_own_noise() -> None:
    clipped, noisy = (trained(each) for each in (UpdateClipping(norm=CLIP), DPFedAvg(clip=CLIP, side="server")))
    seen = [each.points[0].observations for each in (clipped, noisy)]
    for one, other in zip(*seen, strict=True):
        for name, value in one.update.items():
            torch.testing.assert_close(other.update[name], value)
        assert other.exchange.channel == one.exchange.channel


def test_the_next_model_pays_for_the_noise() -> None:
    clipped, noisy = (trained(each) for each in (UpdateClipping(norm=CLIP), DPFedAvg(clip=CLIP, side="server")))
    last = [each.points[-1].observations[0].parameters for each in (clipped, noisy)]
    assert any(bool((last[0][name] - last[1][name]).abs().max() > 1e-6) for name in last[0])


def test_the_noise_on_the_mean_is_that_of_one_sum() -> None:
    clients, defense = 16, DPFedAvg(clip=2.0, noise=0.5, side="server")
    sent = {"w": torch.zeros(clients, 200, 200)}
    mean = defense.averaged(sent, clients, torch.Generator().manual_seed(1))["w"].mean(0)
    assert mean.std().item() == pytest.approx(0.5 * 2.0 / clients, rel=0.02)
    assert DPFedAvg().averaged(sent, clients, torch.Generator()) is sent


def test_nothing_is_promised_towards_the_server_and_it_knows_its_own_noise() -> None:
    defense = DPFedAvg(noise=8.0, side="server")
    assert defense.privacy(1.0, 1).epsilon == math.inf
    threat = defense.amend(trained(defense).points[0].observations[0].describe())
    assert any("before the noise" in each for each in threat.knows)
    assert not any("random numbers of the defence" in each for each in threat.does_not_know)
