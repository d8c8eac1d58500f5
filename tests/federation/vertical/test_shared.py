"""The protocol that CAFE attacks, what the attack reads in it, and what defences on gradients and ids change."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from seepage._core import InputError, Streams
from seepage.attacks.vertical.closed_form import ClosedForm
from seepage.data import Layout
from seepage.defenses import DPSGD, HiddenIds, RemappedIds
from seepage.defenses.dp_sgd import epsilon, noise_for
from seepage.defenses.fake_gradients import FakeGradients
from seepage.federation.vertical.losses import training_losses
from seepage.federation.vertical.shared import SharedLayers
from seepage.models import MLP, Learner, make_learner
from seepage.observation import Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate

ROWS, WIDTH, BATCH, BATCHES = 60, 12, 8, 150
FIXED = SharedLayers(batch_size=BATCH)
TRAINING = SharedLayers(batch_size=BATCH, rate=0.1)


@lru_cache
def plain() -> Learner:
    model = MLP(width=20, depth=1, activation="sigmoid", norm="none")
    return make_learner(model, WIDTH, (), "multiclass", 3, seed=0)


@lru_cache
def exact() -> Learner:
    return plain().double()


@lru_cache
def table() -> tuple[Tensor, Tensor]:
    """Values from 0 to 1, and three classes that a linear rule tells apart."""
    draw = torch.Generator().manual_seed(1)
    x = torch.rand(ROWS, WIDTH, generator=draw, dtype=torch.float64)
    rule = torch.randn(WIDTH, 3, generator=draw, dtype=torch.float64)
    return x, ((x - 0.5) @ rule).argmax(1)


def updates(protocol: SharedLayers = FIXED, batches: int = BATCHES, **settings: object) -> list[VerticalUpdate]:
    return list(protocol.stream(exact(), *table(), batches, Streams(0), **settings))  # type: ignore[arg-type]


def recovered(seen: list[VerticalUpdate]) -> Tensor:
    scene = VerticalScene(learner=plain(), rows=ROWS, batch_size=BATCH, space=Space(layout=Layout(WIDTH, ())))
    attack = ClosedForm().start(scene)
    for update in seen:
        attack.see(update)
    found = attack.recover()
    assert found.determined.all()
    return found.inputs


def psnr(found: Tensor, true: Tensor) -> float:
    return -10 * math.log10(float((found - true).square().mean()))


def correlation(found: Tensor, true: Tensor) -> float:
    one, other = found - found.mean(0), true - true.mean(0)
    return float((one * other).sum() / (one.norm() * other.norm()))


def test_an_update_is_the_mean_gradient_of_its_rows() -> None:
    x, y = table()
    for update in updates(batches=40):
        assert len(update.rows.unique()) == BATCH
        expected = exact().gradient(update.parameters, x[update.rows], y[update.rows])
        for name, value in update.gradient.items():
            torch.testing.assert_close(value, expected[name])


def test_fixed_weights_stay() -> None:
    start = exact().initial()
    assert all(torch.equal(update.parameters[name], start[name]) for update in updates() for name in start)


@pytest.mark.parametrize("adam", [False, True])
def test_a_rate_moves_the_weights_and_updates_are_computed_there(adam: bool) -> None:
    x, y = table()
    seen = updates(SharedLayers(batch_size=BATCH, rate=0.01, adam=adam), batches=5)
    for before, after in pairwise(seen):
        assert all((before.parameters[name] != after.parameters[name]).any() for name in before.parameters)
        expected = exact().gradient(after.parameters, x[after.rows], y[after.rows])
        for name, value in after.gradient.items():
            torch.testing.assert_close(value, expected[name])
        if not adam:
            moved = {name: before.parameters[name] - 0.01 * value for name, value in before.gradient.items()}
            assert all(torch.equal(moved[name], value) for name, value in after.parameters.items())


def test_a_defence_changes_neither_batches_nor_who_watches() -> None:
    watched: list[int] = []
    with_defence = updates(defense=FakeGradients(drawn=2), watch=lambda seen, _: watched.append(seen))
    for one, other in zip(updates(), with_defence, strict=True):
        assert torch.equal(one.rows, other.rows)
        assert not torch.equal(one.gradient["0.weight"], other.gradient["0.weight"])
    assert watched == list(range(1, BATCHES + 1))


def test_a_batch_larger_than_the_table_is_refused() -> None:
    with pytest.raises(InputError, match="there are 60 rows"):
        updates(SharedLayers(batch_size=61))


def test_plain_gradients_give_every_row_exactly() -> None:
    assert psnr(recovered(updates()), table()[0]) > 100


def test_fake_gradients_keep_numbers_back_while_training_goes_on() -> None:
    x, y = table()
    defense = FakeGradients(drawn=100)
    assert psnr(recovered(updates(defense=defense)), x) < 15
    losses = training_losses(TRAINING, exact(), (x, y), 300, Streams(0), defense=defense)
    assert min(loss for _, loss in losses[1:]) < 0.5 * losses[0][1]


def test_fake_gradients_hide_the_scale_only() -> None:
    """The numbers are wrong, and rows and columns are still told apart: no defence by itself."""
    assert correlation(recovered(updates(defense=FakeGradients(drawn=100))), table()[0]) > 0.7


def test_clipping_by_large_fake_gradients_is_no_defence() -> None:
    assert psnr(recovered(updates(defense=FakeGradients(drawn=100, reading="clipped"))), table()[0]) > 30


def test_as_printed_fake_gradients_stop_training_too() -> None:
    x, y = table()
    defense = FakeGradients(drawn=100, reading="printed")
    assert psnr(recovered(updates(defense=defense)), x) < 15
    losses = training_losses(TRAINING, exact(), (x, y), 300, Streams(0), defense=defense)
    assert losses[-1][1] > 0.7 * losses[0][1]


def test_remapped_ids_give_all_rows_in_another_order() -> None:
    x, _ = table()
    secret = torch.randperm(ROWS, generator=torch.Generator().manual_seed(3))
    found = recovered(list(RemappedIds().told_rows(iter(updates()), ROWS, torch.Generator().manual_seed(3))))
    assert psnr(found, x) < 15
    assert psnr(found[secret], x) > 100


def test_hidden_ids_give_nothing() -> None:
    x, _ = table()
    told = list(HiddenIds().told_rows(iter(updates()), ROWS, torch.Generator().manual_seed(3)))
    assert all(len(update.rows.unique()) == BATCH for update in told)
    found = recovered(told)
    assert psnr(found, x) < psnr(x.mean(0).expand_as(x), x)
    assert abs(correlation(found, x)) < 0.2


@pytest.mark.parametrize("ids", [HiddenIds(), RemappedIds()])
def test_ids_are_all_that_is_changed(ids: HiddenIds | RemappedIds) -> None:
    seen = updates(batches=3)
    other = list(ids.told_rows(iter(seen), ROWS, torch.Generator().manual_seed(0)))
    assert [update.gradient for update in other] == [update.gradient for update in seen]
    assert not any(torch.equal(a.rows, b.rows) for a, b in zip(other, seen, strict=True))


def test_noise_for_an_epsilon_is_just_enough() -> None:
    noise = noise_for(5.0, 30)
    assert 4.9 < DPSGD(noise=noise).privacy(1.0, 30).epsilon <= 5.0
    assert epsilon(noise_for(5.0, 200, sampling_rate=0.1), 0.1, 200, 1e-5) <= 5.0
    assert noise_for(1.0, 30) > noise > noise_for(5.0, 10)
    with pytest.raises(InputError, match="above 0"):
        noise_for(0.0, 30)
    with pytest.raises(InputError, match="No noise keeps"):
        noise_for(1e-6, 30)


def test_dp_noise_hides_rows() -> None:
    x, y = table()
    private = DPSGD(clip=3.0, noise=noise_for(10.0, BATCHES))
    found = recovered(list(FIXED.stream(exact(), x, y, BATCHES, Streams(0), defense=private)))
    assert psnr(found, x) < 15
    assert abs(correlation(found, x)) < 0.2


def test_losses_are_those_of_training() -> None:
    x, y = table()
    told: list[tuple[str, int, int]] = []
    losses = training_losses(
        TRAINING, exact(), (x, y), 250, Streams(0), at=(100, 200), progress=lambda *heard: told.append(heard[:3])
    )
    assert [seen for seen, _ in losses] == [0, 100, 200, 250]
    assert told == [("training loss", number, 250) for number in range(1, 251)]
    assert losses[0][1] == pytest.approx(float(exact().loss(exact().initial(), x, y)))
    last = updates(TRAINING, batches=251)[-1].parameters  # the weights after 250
    assert losses[-1][1] == pytest.approx(float(exact().loss(last, x, y)))
    assert losses[-1][1] < losses[0][1]


def test_losses_need_training() -> None:
    with pytest.raises(InputError, match="learning rate is 0"):
        training_losses(FIXED, exact(), table(), 10, Streams(0))
