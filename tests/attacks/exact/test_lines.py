"""Rows that share their categories, after several local steps: their numbers come from slopes over rounds."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.attacks.exact.lines import settled_lines
from seepage.data import Layout
from seepage.models import MLP, make_learner
from seepage.observation import Exchange, Observation, Space
from tests.attacks.exact.test_rounds import NUMERIC, SIZES, a_batch
from tests.reference import local_training

ROWS, EPOCHS, RATE = 10, 3, 0.01


def rounds_of(x: Tensor, y: Tensor, count: int) -> list[Observation]:
    """Rounds of several local steps on the same rows, in orders that are drawn anew."""
    learner = make_learner(MLP(width=40, depth=2, norm="none"), NUMERIC, SIZES, "binary", 2, seed=0)
    exchange = Exchange(protocol="fedavg", rows=ROWS, batch_size=5, local_epochs=EPOCHS, learning_rate=RATE)
    weights, found, drawn = dict(learner.initial()), [], torch.Generator().manual_seed(0)
    others, labels = a_batch(99, 200)
    for _ in range(count):
        order = torch.cat([torch.randperm(ROWS, generator=drawn) for _ in range(EPOCHS)]).reshape(-1, 5)
        update = local_training(learner, weights, x[order], y[order], RATE)
        space = Space(layout=Layout(numeric=NUMERIC, sizes=SIZES))
        found.append(Observation(learner=learner, space=space, parameters=weights, update=update, exchange=exchange))
        for _ in range(10):
            slope = learner.gradient(weights, others, labels)
            weights = {name: value - 0.3 * slope[name] for name, value in weights.items()}
    return found


def test_two_rows_of_a_line_are_found_by_their_slopes() -> None:
    x, y = a_batch(2, ROWS)
    x[1, NUMERIC:] = x[0, NUMERIC:]
    x[0, :NUMERIC], x[1, :NUMERIC] = torch.tensor([-0.8, 0.5]), torch.tensor([1.1, -0.4])
    way = x[1] - x[0]
    read = x.clone().double()
    read[0], read[1] = (x[0] + 0.3 * way).double(), (x[0] + 0.6 * way).double()
    found = settled_lines(rounds_of(x, y, 4), read)
    before, after = (float(torch.cdist(x[:2].double(), rows[:2]).min(1).values.max()) for rows in (read, found))
    assert before > 0.5
    assert after < 0.1
    assert torch.equal(found[2:], read[2:])


def test_rows_that_were_read_rightly_stay() -> None:
    x, y = a_batch(2, ROWS)
    x[1, NUMERIC:] = x[0, NUMERIC:]
    found = settled_lines(rounds_of(x, y, 4), x.double())
    assert float((found - x.double()).abs().max()) < 0.1


def test_without_rows_that_share_their_categories_nothing_is_done() -> None:
    x, y = a_batch(3, ROWS)
    assert torch.equal(settled_lines(rounds_of(x, y, 2), x.double()), x.double())
