"""What a client can check before it trains: honest weights pass, weights of a cheating server do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.attacks.malicious import Bins, Codes, Disguised, Module, ServerAttack
from seepage.defenses.received import check_received, limits, measured
from seepage.models import MLP, Learner, ResNet, make_learner
from seepage.observation import Exchange
from seepage.observation.servers import ServerScene
from tests.attacks.malicious.scenes import layout, rows_of, space_of


def net() -> Learner:
    where = layout()
    model = MLP(width=160, activation="relu", norm="none")
    return make_learner(model, where.numeric, where.sizes, "binary", 2, seed=0)


def own_rows() -> torch.Tensor:
    return torch.from_numpy(rows_of(60, np.random.default_rng(1), layout())).float()


def scene() -> ServerScene:
    public = rows_of(300, np.random.default_rng(2), layout())
    exchange = Exchange(protocol="fedsgd", rows=60, batch_size=60)
    return ServerScene(learner=net(), space=space_of(layout()), exchange=exchange, public=public)


@pytest.mark.parametrize("model", [MLP(), MLP(width=160, activation="relu", norm="none"), ResNet(width=32)])
def test_training_raises_no_alarm(model: MLP | ResNet) -> None:
    where, generator = layout(), np.random.default_rng(0)
    learner = make_learner(model, where.numeric, where.sizes, "binary", 2, seed=3)
    before, x = learner.initial(), own_rows()
    for _ in range(5):
        y = torch.from_numpy(generator.integers(0, 2, len(x)))
        slope = learner.gradient(before, x, y)
        now = {name: value - 0.05 * slope[name] for name, value in before.items()}
        assert check_received(learner, now, before=before) == []
        before = now


@pytest.mark.parametrize(
    ("attack", "check"),
    [(Bins(), "copies"), (Codes(), "scale"), (Module(), "shapes"), (Disguised(share=0.4), "echoes")],
)
def test_weights_of_a_cheating_server_are_found_by_a_sentence(attack: ServerAttack, check: str) -> None:
    sent = attack.prepare(scene(), Streams(0))[0].parameters
    findings = {each.check: each for each in check_received(net(), sent, rows=own_rows())}
    assert check in findings
    assert findings[check].value > findings[check].limit
    assert findings[check].sentence.endswith(".")


def test_own_rows_that_stand_alone_are_counted() -> None:
    sent = Bins().prepare(scene(), Streams(0))[0].parameters
    assert measured(net(), sent, rows=own_rows())["alone"] > limits()["alone"]
    assert measured(net(), net().initial(), rows=own_rows())["alone"] < limits()["alone"]


def test_a_jump_is_seen_beside_the_last_round() -> None:
    sent = Codes().prepare(scene(), Streams(0))[0].parameters
    found = [each.check for each in check_received(net(), sent, before=net().initial())]
    assert "jump" in found


def test_weights_that_are_no_numbers_are_one_sentence() -> None:
    broken = net().initial()
    next(iter(broken.values()))[0] = torch.nan
    with pytest.raises(InputError, match="finite"):
        check_received(net(), broken)
