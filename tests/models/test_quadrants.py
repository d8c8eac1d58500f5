"""CAFE's model of images."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

from seepage._core import InputError, Streams
from seepage.attacks.vertical.closed_form import ClosedForm
from seepage.data import Layout
from seepage.federation.vertical.shared import SharedLayers
from seepage.models import MLP, Learner, layer_inputs, linear_calls, make_learner
from seepage.models.quadrants import QuadrantNet, Tiles, front
from seepage.observation import Space
from seepage.observation.vertical import VerticalScene

PIXELS = 784


def learner(**settings: object) -> Learner:
    model = QuadrantNet(**({"width": 16, "channels": 2} | settings))  # type: ignore[arg-type]
    return make_learner(model, PIXELS, (), "multiclass", 10, seed=0)


def images(count: int) -> Tensor:
    return torch.rand(count, PIXELS, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("activation", ["sigmoid", "softplus", "relu"])
def test_the_first_fully_connected_layer_comes_first_and_takes_what_the_workers_make(
    workers: int, activation: str
) -> None:
    model = learner(workers=workers, activation=activation)
    parameters = model.initial()
    assert list(linear_calls(model, PIXELS)) == ["first", "rest.1"]
    inputs = front(model, parameters, images(3))
    assert inputs.shape == (3, QuadrantNet(workers=workers, channels=2).inputs)
    assert torch.equal(inputs, layer_inputs(model, ["first"], parameters, images(3))[0])
    assert model.outputs(parameters, images(3)).shape == (3, 10)


@pytest.mark.parametrize(("workers", "inputs"), [(1, 1568), (4, 1568), (16, 2048)])
def test_sizes_are_as_documented(workers: int, inputs: int) -> None:
    assert QuadrantNet(workers=workers).inputs == inputs


def test_tiles_are_the_parts_of_the_picture() -> None:
    picture = torch.arange(PIXELS).float()
    square = picture.view(28, 28)
    quadrants = Tiles(4)(picture[None])[0]
    assert torch.equal(quadrants[1], square[:14, 14:])
    assert torch.equal(quadrants[2], square[14:, :14])
    assert torch.equal(Tiles(16)(picture[None])[0, 6], square[7:14, 14:21])
    assert torch.equal(Tiles(1)(picture[None])[0, 0], square)


@pytest.mark.parametrize("workers", [4, 16])
def test_a_worker_sees_its_own_pixels_only(workers: int) -> None:
    model = learner(workers=workers)
    slopes = jacrev(lambda x: front(model, model.initial(), x[None])[0])(images(1)[0])  # (d1, 784)
    parts = slopes.view(workers, -1, PIXELS).abs().sum(1)  # (workers, 784)
    assert ((parts > 0).sum(0) == 1).all()
    assert ((parts > 0).sum(1) == PIXELS // workers).all()


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_batches_at_once_are_batches_one_by_one(workers: int) -> None:
    model = learner(workers=workers)
    x, y = images(6).view(2, 3, PIXELS), torch.tensor([[0, 1, 2], [3, 4, 5]])
    together = model.gradients(model.initial(), x, y)
    for number in range(2):
        alone = model.gradient(model.initial(), x[number], y[number])
        for name, value in alone.items():
            torch.testing.assert_close(together[name][number], value)


def test_rows_and_restarts_can_be_differentiated_at_once() -> None:
    model = learner()
    parameters, runs = model.initial(), images(6).view(2, 3, PIXELS)
    slope = vmap(grad(lambda x: front(model, parameters, x).square().sum()))(runs)
    assert slope.shape == runs.shape
    assert (slope != 0).all()


def test_the_attack_finds_what_the_workers_make_of_every_image_and_from_it_the_image() -> None:
    """Steps I and II are solved; step III is solvable: the maps determine the pixels."""
    rows, batch = 30, 6
    plain = learner(width=24, channels=8)
    model, x = plain.double(), images(rows).double()
    y = torch.arange(rows) % 10
    scene = VerticalScene(learner=plain, rows=rows, batch_size=batch, space=Space(layout=Layout(PIXELS, ())))
    attack = ClosedForm().start(scene)
    for update in SharedLayers(batch_size=batch).stream(model, x, y, 60, Streams(0)):
        attack.see(update)
    found = attack.recover()
    assert found.determined.all()
    parameters = model.initial()
    torch.testing.assert_close(found.inputs, front(model, parameters, x), atol=1e-6, rtol=0)

    before = found.inputs.logit()  # the sigmoid's inputs are linear in the pixels
    dark = torch.zeros(PIXELS, dtype=torch.float64)
    linear = jacrev(lambda x: front(model, parameters, x[None])[0].logit())(dark)
    shift = front(model, parameters, dark[None])[0].logit()
    pixels = torch.linalg.lstsq(linear, (before - shift).T).solution.T
    torch.testing.assert_close(pixels, x, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuadrantNet(workers=3), "1, 4 or 16"),
        (lambda: QuadrantNet(width=0), "at least 1"),
        (lambda: QuadrantNet(channels=0), "at least 1"),
        (lambda: QuadrantNet(activation="gelu"), "sigmoid"),
        (lambda: QuadrantNet().build(30, (), 10), "28 x 28"),
        (lambda: QuadrantNet().build(PIXELS, (2,), 10), "no categories"),
        (lambda: front(make_learner(MLP(), 3, (), "binary", 2, seed=0), {}, images(1)), "Only a QuadrantNet"),
    ],
)
def test_what_cannot_be_built_is_one_sentence(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_the_authors_two_convolutions_make_the_inputs_that_they_say() -> None:
    settings = QuadrantNet(convolutions=2, activation="relu", channels=64, width=8)
    assert settings.inputs == 4 * 4 * 4 * 128
    net = settings.build(784, (), 10)
    assert net(torch.rand(2, 784)).shape == (2, 10)
    with pytest.raises(InputError, match="a worker has 1 or 2"):
        QuadrantNet(convolutions=3)
