"""Several rounds on the same rows: read and proven where one round is shut, and never proven where they differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from seepage._core import InputError, NotApplicable, Outcome, Streams
from seepage.attacks.exact.rounds import ExactRounds
from seepage.data import Layout
from seepage.models import MLP, make_learner
from seepage.models.functional import Learner
from seepage.observation import Claim, Exchange, Observation, Space

SIZES = (4, 5, 3, 6, 4, 5)
NUMERIC = 2
ROWS = 16
WIDTH = 12  # of the first layer: narrower than the batch


def a_net(seed: int = 0) -> Learner:
    return make_learner(MLP(width=WIDTH, depth=2, norm="none"), NUMERIC, SIZES, "binary", 2, seed=seed)


def a_batch(seed: int, rows: int = ROWS) -> tuple[Tensor, Tensor]:
    draws = np.random.default_rng(seed)
    numbers = draws.normal(size=(rows, NUMERIC))
    blocks = [np.eye(size)[draws.integers(0, size, rows)] for size in SIZES]
    x = np.concatenate([numbers, *blocks], 1)
    return torch.from_numpy(x).float(), torch.from_numpy(draws.integers(0, 2, rows)).float()


def seen(learner: Learner, batches: list[tuple[Tensor, Tensor]], noise: float = 0.0) -> list[Observation]:
    """One update for each batch, at weights that other rows move in between."""
    layout = Layout(numeric=NUMERIC, sizes=SIZES)
    weights, found = dict(learner.initial()), []
    others, labels = a_batch(99, 200)
    drawn = torch.Generator().manual_seed(1)
    for x, y in batches:
        update = learner.gradient(weights, x, y)
        update = {name: value + noise * torch.randn(value.shape, generator=drawn) for name, value in update.items()}
        exchange = Exchange(protocol="fedsgd", rows=len(x), batch_size=len(x))
        found.append(
            Observation(
                learner=learner, space=Space(layout=layout), parameters=weights, update=update, exchange=exchange
            )
        )
        for _ in range(10):
            slope = learner.gradient(weights, others, labels)
            weights = {name: value - 0.3 * slope[name] for name, value in weights.items()}
    return found


def missed(x: Tensor, rows: np.ndarray) -> int:
    """How many true rows are not among the claimed ones."""
    return int((torch.cdist(x.double(), torch.from_numpy(rows).double()).min(1).values > 0.01).sum())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_layer_narrower_than_the_batch_is_open_after_a_few_rounds(seed: int) -> None:
    learner, batch = a_net(seed), a_batch(seed)
    claims = ExactRounds()(seen(learner, [batch] * 4), Streams(0))
    assert len(claims) == 4
    claim = claims[0]
    assert claim.outcome == Outcome.OK
    assert claim.rows is not None
    assert claim.certified is not None
    assert claim.certified.all()
    assert missed(batch[0], claim.rows) == 0
    order = torch.cdist(torch.from_numpy(claim.rows), batch[0]).argmin(1)
    assert claim.labels is not None
    assert np.array_equal(claim.labels, batch[1][order].numpy())


@pytest.mark.parametrize("proven", [1, ROWS - 3, ROWS - 1])
def test_rows_that_are_proven_already_are_taken_away_and_stay_proven(proven: int) -> None:
    x, y = a_batch(1)
    rounds = seen(a_net(1), [(x, y)] * 4)
    some = np.arange(ROWS) < proven
    known = Claim(outcome=Outcome.BUDGET_SPENT, rows=x.numpy(), labels=y.numpy().astype(np.float32), certified=some)
    claim = ExactRounds()(rounds, Streams(0), known=known)[-1]
    assert claim.rows is not None
    assert claim.certified is not None
    assert np.allclose(claim.rows[:proven], x[:proven].numpy(), atol=1e-4)  # the last digits are fitted to all rounds
    assert claim.certified.all()
    assert missed(x, claim.rows) == 0


def test_rows_that_are_there_twice_are_counted() -> None:
    x, y = a_batch(4)
    x[1], y[1] = x[0], y[0]
    (claim, *_) = ExactRounds()(seen(a_net(), [(x, y)] * 4), Streams(0))
    assert claim.certified is not None
    assert claim.certified.all()
    assert claim.rows is not None
    assert int((torch.cdist(torch.from_numpy(claim.rows), x[:1]) < 0.01).sum()) == 2


@pytest.mark.parametrize("change", ["another batch in one round", "one other row", "noise"])
def test_nothing_is_certified_where_the_rounds_are_not_of_the_same_rows(change: str) -> None:
    first, other = a_batch(5), a_batch(6)
    mixed = first[0].clone(), first[1].clone()
    mixed[0][3], mixed[1][3] = other[0][3], other[1][3]
    batches = {
        "another batch in one round": [first, first, other, first],
        "one other row": [first, first, mixed, first],
        "noise": [first] * 4,
    }[change]
    rounds = seen(a_net(), batches, noise=1e-3 if change == "noise" else 0.0)
    if change != "noise":
        with pytest.raises(NotApplicable, match=r"more than the 16 rows behind each of them.*Were clients mixed up"):
            ExactRounds(starts=2)(rounds, Streams(0))
        return
    (claim, *_) = ExactRounds(starts=2)(rounds, Streams(0))
    assert claim.certified is None or not claim.certified.any()


def a_world(seed: int) -> tuple[list[Tensor], list[Observation]]:
    """The rows of each round, and what was seen.

    Rows are all different, twice there, nearly so, on a line, with both labels, or not in every round.
    """
    draws = np.random.default_rng(seed)
    x, y = a_batch(seed, int(draws.integers(6, 24)))
    kind = int(draws.integers(0, 6))
    if kind in (1, 2, 4):
        x[1], y[1] = x[0], y[0]
    if kind == 2:
        x[1, 0] += float(draws.choice([0.02, 0.05, 0.2]))
    if kind == 3:
        for place in (1, 2):
            x[place], y[place] = x[0], y[0]
            x[place, 0] += 0.3 * place
    if kind == 4:
        y[1] = 1 - y[0]
    batches = [(x, y)] * int(draws.integers(2, 5))
    if kind == 5:
        other, labels = a_batch(seed + 10**6, 1)
        batches[-1] = torch.cat([other, x[1:]]), torch.cat([labels, y[1:]])
    rows = [each for each, _ in batches]
    return rows, seen(a_net(seed % 7), batches, noise=float(draws.choice([0, 0, 0, 1e-6, 1e-4])))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 10))
def test_no_certified_row_is_wrong(first: int) -> None:
    """Over batches and rounds that leave more and less open; most are read completely."""
    proven_rows = 0
    for seed in range(first, first + 10):
        (x, *_), rounds = a_world(seed)
        try:
            (claim, *_) = ExactRounds(starts=2)(rounds, Streams(seed))
        except NotApplicable:
            continue
        if claim.rows is None or claim.certified is None:
            assert claim.note
            continue
        proven = torch.from_numpy(claim.rows[claim.certified]).double()
        proven_rows += len(proven)
        assert not len(proven) or float(torch.cdist(proven, x.double()).min(1).values.max()) < 0.02, seed
    assert proven_rows


def test_what_cannot_be_joined_is_one_sentence() -> None:
    batch = a_batch(0)
    rounds = seen(a_net(), [batch] * 2)
    fewer = replace(rounds[1], exchange=replace(rounds[1].exchange, rows=8, batch_size=8))
    with pytest.raises(NotApplicable, match="different numbers of rows"):
        ExactRounds()([rounds[0], fewer], Streams(0))
    several = replace(rounds[0].exchange, protocol="fedavg", batch_size=8, learning_rate=0.1)
    with pytest.raises(NotApplicable, match="rounds of one step"):
        ExactRounds()([replace(each, exchange=several) for each in rounds], Streams(0))
    nothing = {name: torch.zeros_like(value) for name, value in rounds[0].update.items()}
    with pytest.raises(NotApplicable, match="zero or holds NaN"):
        ExactRounds()([replace(rounds[0], update=nothing), rounds[1]], Streams(0))
    with pytest.raises(InputError, match="starts is 0"):
        ExactRounds(starts=0)


def test_people_who_differ_in_one_whole_number_are_chosen_together() -> None:
    """They lie on a line: none has a place of its own in a span, and how many of each there are is found at once."""
    x, y = a_batch(7)
    spread = 0.1
    layout, one = Layout(numeric=NUMERIC, sizes=SIZES), torch.ones(NUMERIC)
    x[:, :NUMERIC] = (x[:, :NUMERIC] / spread).round() * spread
    for row, value in ((1, 3), (2, 9), (3, 14)):
        x[row], y[row] = x[0], y[0]
        x[row, 0] = value * spread
    scale = torch.full((layout.width,), 1 / spread)
    scale[NUMERIC:] = 1
    space = Space(
        layout=layout,
        shift=torch.zeros(layout.width),
        scale=scale,
        low=-40 * one,
        high=40 * one,
        integers=one.bool(),
    )
    rounds = [replace(each, space=space) for each in seen(a_net(), [(x, y)] * 4)]
    (claim, *_) = ExactRounds()(rounds, Streams(0))
    assert claim.rows is not None
    assert claim.certified is not None
    assert missed(x, claim.rows) == 0
    assert claim.certified.sum() >= ROWS - 4  # those on the line are proven where what was sent says their numbers
