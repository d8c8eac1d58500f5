"""Rows of people who show in columns that few of a batch fill, in batches that span nobody, while the model trains."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seepage._core import NotApplicable, Outcome, Streams
from seepage.attacks.vertical.columns import Columns
from seepage.attacks.vertical.halfspaces import numbers_inside
from seepage.attacks.vertical.relu_slopes import Net, decoded, net_of, passes, stacked
from seepage.attacks.vertical.sightings import sightings
from seepage.attacks.vertical.slopes import Slopes
from seepage.attacks.vertical.spans import Spans
from seepage.attacks.vertical.traces import held, solved, traces
from seepage.data import Layout
from seepage.defenses import Defense, GaussianNoise, Undefended
from seepage.federation.vertical.shared import SharedLayers
from seepage.models import Learner, scoped_randomness
from seepage.observation import Claim, Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate

NUMBERS, SIZES = 3, (40, 4, 3, 2)
LAYOUT = Layout(NUMBERS, SIZES)
PEOPLE, BATCH, BATCHES = 160, 60, 80


def people(seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shares = [torch.linspace(1, 0.02, size).exp() ** 2 for size in SIZES]
    blocks = [
        torch.eye(size)[torch.multinomial(share, PEOPLE, replacement=True, generator=generator)]
        for size, share in zip(SIZES, shares, strict=True)
    ]
    x = torch.cat([torch.randn(PEOPLE, NUMBERS, generator=generator), *blocks], 1)
    return x, (x[:, 0] + x[:, NUMBERS + 1] > 0.3).long()


def world(seed: int, outputs: int = 2, activation: type[nn.Module] = nn.ReLU) -> VerticalScene:
    width = NUMBERS + sum(SIZES)
    with scoped_randomness(seed):
        net = nn.Sequential(nn.Linear(width, 60), activation(), nn.Linear(60, 40), activation(), nn.Linear(40, outputs))
    learner = Learner(net, "binary")
    return VerticalScene(learner=learner, rows=PEOPLE, batch_size=BATCH, space=Space(layout=LAYOUT), fixed=False)


UNDEFENDED = Undefended()


def watched(scene: VerticalScene, x: Tensor, y: Tensor, defense: Defense = UNDEFENDED) -> list[VerticalUpdate]:
    protocol = SharedLayers(batch_size=BATCH, rate=1e-3, adam=True)
    return list(protocol.stream(scene.learner, x, y, BATCHES, Streams(1), defense=defense))


def claimed(scene: VerticalScene, seen: list[VerticalUpdate], attack: Slopes | Spans) -> Claim:
    attacker = attack.start(scene, Streams(0))
    for update in seen:
        attacker.see(update)
    (claim,) = attacker.claims()
    return claim


@pytest.mark.parametrize(("seed", "outputs"), [(0, 2), (1, 1)])
def test_people_are_read_where_spans_hold_nobody_and_every_proof_is_right(seed: int, outputs: int) -> None:
    (x, y), scene = people(seed), world(seed, outputs)
    seen = watched(scene, x, y)
    assert claimed(scene, seen, Spans()).outcome is Outcome.NOT_APPLICABLE
    attacker = Slopes().start(scene, Streams(0))
    for update in seen:
        attacker.see(update)
    found = attacker.recover()
    read = found.determined
    assert int(read.sum()) >= 0.9 * PEOPLE
    assert torch.equal(found.inputs[read][:, NUMBERS:], x[read][:, NUMBERS:].double())
    off = (found.inputs - x).abs().amax(1)
    assert float((off[read] < 0.02).double().mean()) > 0.98
    claim = claimed(scene, seen, Slopes())
    assert claim.certified is not None
    proven = torch.from_numpy(claim.certified)
    assert int(proven.sum()) >= 0.85 * PEOPLE
    assert float(off[proven].max()) < 0.02
    assert found.labels is not None
    assert torch.equal(found.labels[read], y[read])


def test_noise_is_not_read_and_nothing_is_proven() -> None:
    (x, y), scene = people(0), world(0)
    claim = claimed(scene, watched(scene, x, y, GaussianNoise(deviation=0.01)), Slopes())
    assert claim.outcome is Outcome.NOT_APPLICABLE
    assert "0 of 160 rows" in claim.note


def test_other_nets_are_told() -> None:
    with pytest.raises(NotApplicable, match="two layers with ReLU"):
        Slopes().start(world(0, activation=nn.GELU), Streams(0))


@pytest.mark.parametrize("seed", [4, 42, 43])
def test_copies_and_near_copies_are_never_taken_for_one_another(seed: int) -> None:
    """Twins share all columns; who shares batches with both could be taken for either."""
    (x, y), scene = people(seed), world(seed)
    x[80:120], y[80:120] = x[:40], y[:40]
    x[120:150, 1:], y[120:150] = x[:30, 1:], y[:30]
    x[120:150, 0] = x[:30, 0] + 0.01
    attacker = Slopes().start(scene, Streams(0))
    for update in watched(scene, x, y):
        attacker.see(update)
    found = attacker.recover()
    read = found.determined
    assert int(read.sum()) >= 20  # copies fill columns together
    assert torch.equal(found.inputs[read][:, NUMBERS:], x[read][:, NUMBERS:].double())
    assert float((found.inputs[read] - x[read]).abs().max()) < 0.02


def test_paths_are_the_slopes_of_autograd_and_give_the_pattern_back() -> None:
    (x, y), scene = people(2), world(2)
    parameters = scene.learner.initial()
    net = stacked([net_of(parameters, ("0", "2", "4"))]).double()
    rows, own = x[:5].double(), net.at(torch.zeros(5, dtype=torch.long))
    logits, paths, sides = (each[0] for each in passes(net, rows[None]))
    made = paths * (logits.sigmoid() - y[:5])[:, None]
    for place in range(5):
        gradient = scene.learner.gradient(parameters, x[place : place + 1], y[place : place + 1])
        assert torch.allclose(made[place].float(), gradient["0.bias"], atol=1e-6)
    near = rows.clone()
    near[:, :NUMBERS] += 0.02
    found = decoded(own, made, made != 0, near)
    assert float(found.missing.max()) < 1e-6
    assert torch.equal(found.pattern, sides[:, 60:] > 0)
    assert torch.allclose(found.error, logits.sigmoid() - y[:5], atol=1e-9)


def columns_of(scene: VerticalScene, seen: list[VerticalUpdate]) -> tuple[Columns, Net]:
    members = torch.zeros(len(seen), PEOPLE, dtype=torch.bool)
    for place, update in enumerate(seen):
        members[place, update.rows] = True
    left = torch.stack([BATCH * update.gradient["0.weight"][:, NUMBERS:].T.double() for update in seen])
    net = stacked([net_of(update.parameters, ("0", "2", "4")) for update in seen]).double()
    return Columns(left, members, SIZES), net


def test_a_column_says_whether_one_person_fills_it() -> None:
    (x, y), scene = people(3), world(3)
    columns, net = columns_of(scene, watched(scene, x, y))
    fill = columns.members.float() @ x[:, NUMBERS:]
    found = sightings(columns, net, LAYOUT, BATCHES)
    assert len(found) > 50
    assert bool((fill[found.batches, found.categories] == 1).all())
    own = (columns.members[found.batches] & (x[:, NUMBERS:].T[found.categories] > 0)).float().argmax(1)
    assert torch.equal((found.error < 0).long(), y[own])
    lost = (x[own][:, NUMBERS:] > 0) & ~found.allowed
    assert float(lost.any(1).double().mean()) < 0.02


def test_a_rough_row_shows_where_its_person_is_and_its_scales_tell_the_numbers() -> None:
    (x, y), scene = people(5), world(5)
    columns, net = columns_of(scene, watched(scene, x, y))
    some = torch.arange(20)
    rows = x[some].double()
    rows[:, :NUMBERS] += 0.01 * torch.randn(20, NUMBERS, generator=torch.Generator().manual_seed(0))
    seen = traces(columns, net, rows, torch.ones(BATCHES, 20, dtype=torch.bool))
    there = columns.members[seen.batches, seen.rows]
    assert float(there.double().mean()) > 0.9
    mine = seen.at(there)
    enough = mine.count(20) >= NUMBERS + 3
    assert int(enough.sum()) >= 5
    found = solved(rows, mine, NUMBERS, 1.0)
    assert torch.equal(found.labels[enough], y[some][enough])
    assert float((found.rows - x[some])[enough].abs().amax(1).median()) < 1e-3
    assert float((held(net, found, mine, NUMBERS) - x[some])[enough].abs().amax(1).median()) < 1e-3


def test_numbers_end_on_the_right_side_of_every_plane() -> None:
    generator = torch.Generator().manual_seed(0)
    planes = torch.randn(4, 200, 3, generator=generator, dtype=torch.float64)
    truth = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    rest = torch.randn(4, 200, generator=generator, dtype=torch.float64)
    sides = (torch.einsum("prn,pn->pr", planes, truth) + rest).sign()
    found = numbers_inside(planes, rest, sides, torch.zeros_like(truth))
    assert float((found - truth).abs().median()) < 0.1  # some cells are wide
    assert bool(((torch.einsum("prn,pn->pr", planes, found) + rest).sign() == sides).float().mean() > 0.98)
