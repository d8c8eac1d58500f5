r"""Spans behind workers' local parts while the model trains.

The first fully connected layer sees :math:`h(x; \theta_t)`, which moves with the weights, so spans of different batches
have no direction in common. But the row is the same: fit :math:`x`, person by person, so that
:math:`(h(x; \theta_t), 1)` lies in the span of every batch that held the person, at the weights of that batch. One
batch of 40 digits gives 1,500 equations for 784 pixels, so a few are enough.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from seepage.attacks.inversion.optimisers import LBFGS
from seepage.attacks.vertical.span import Span
from seepage.models import layer_inputs
from seepage.observation.vertical import VerticalScene

STEPS = 250
ATTEMPTS = 5  # starts, for those whom the first ones did not find
STRANGERS = 20  # people who were not in a batch, beside whom a row is looked at
NEAR = 0.02  # of their distance: this near to a span that was not fitted, a row is certified
ASKED = 3
SETTLED = 1e-3  # nobody came nearer by this share: the fit is done
OPTIMISER = LBFGS(history=20, longest=0.1)

Parts = list[tuple[Span, Tensor]]


def fit_to_spans(scene: VerticalScene, people: list[list[Span]], steps: int = STEPS) -> tuple[Tensor, Tensor]:
    """Everyone's data, NaN where there are too few batches, and which rows a batch that was not fitted confirms.

    The mean of a batch lies in its span as well, so a fit can end at the picture of an average person. Whom the first
    fit does not find starts again, at random, with distances relative to how far the row is from the average.
    """
    told = torch.tensor([len(spans) >= ASKED for spans in people])
    enough = enough_batches(scene)
    x = torch.full((len(people), scene.space.layout.width), 0.5)
    certified = torch.zeros(len(people), dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    start, average = x.clone(), None
    for _ in range(ATTEMPTS):
        who = (told & ~certified).nonzero()[:, 0]
        if not len(who):
            break
        fitted, kept_out = _parted(people, who.tolist(), enough)
        found = _fitted(scene, fitted, start, average, who, steps)
        x[who] = found[who]
        certified |= _confirmed(scene, x, kept_out)
        average = x[certified if bool(certified.any()) else told].mean(0)
        start = torch.rand(x.shape, generator=generator)
    return torch.where(told[:, None], x.double(), torch.nan), certified


def enough_batches(scene: VerticalScene) -> int:
    """Batches that nobody else shares: of everyone, on average less than one in ten thousand has a twin in all."""
    return max(ASKED, math.ceil(math.log(1e4 * scene.rows) / math.log(scene.rows / scene.batch_size)))


def _fitted(
    scene: VerticalScene, fitted: Parts, start: Tensor, average: Tensor | None, who: Tensor, steps: int
) -> Tensor:
    """(people, width) least squares for some people, all at once.

    L-BFGS keeps a history of its own for everyone: with one history for all, the few who are hard to fit spoil the
    direction of the others.
    """
    x, best = start[None].clone(), start.clone()
    state, moving = OPTIMISER.begin(x[:, who]), torch.ones(1, len(who), 1, 1)
    lowest = torch.full((len(who),), torch.inf)
    scale = torch.ones(())
    for step in range(1, steps + 1):
        miss, slope = (each[who] for each in _missed(scene, fitted, x[0], average))
        if step == 1:  # the loss is as small as the layer's inputs vary; the first move must not be
            scale = 1 / slope.abs().amax(1, keepdim=True).clamp(min=1e-30)
        better = miss < lowest
        if not bool((miss < (1 - SETTLED) * lowest).any()):
            break
        best[who[better]] = x[0][who[better]]
        lowest = torch.where(better, miss, lowest)
        own = x[:, who]
        OPTIMISER.move(own, (scale * slope)[None], state, torch.tensor(OPTIMISER.sizes(step, steps)), moving)
        x[:, who] = own
    return best


def _missed(scene: VerticalScene, fitted: Parts, x: Tensor, average: Tensor | None) -> tuple[Tensor, Tensor]:
    """(people,) squared distances from all spans that are fitted, and (people, width) their slope.

    With an average row distances are relative to how far the first layer's inputs are from those of the average.
    """
    data = x.clone().requires_grad_(True)
    miss = torch.zeros(len(x))
    for span, rows in fitted:
        loss = outside(scene, span, data[rows]).square().sum(1)
        if average is not None:
            both = torch.cat([data[rows], average[None]])
            inputs = layer_inputs(scene.learner, [scene.first], span.parameters, both)[0]
            loss = loss / (inputs[:-1] - inputs[-1].detach()).square().sum(1)
        torch.autograd.backward(loss.sum())  # batch by batch: the graph of all would not fit
        miss.index_add_(0, rows, loss.detach())
    return miss, torch.zeros_like(x) if data.grad is None else data.grad


def outside(scene: VerticalScene, span: Span, x: Tensor) -> Tensor:
    """(rows, inputs) the part of the first layer's inputs that a batch does not span."""
    inputs = layer_inputs(scene.learner, [scene.first], span.parameters, x)[0]
    if scene.bias is not None:
        inputs = torch.cat([inputs, inputs.new_ones(len(inputs), 1)], 1)
    return inputs - (inputs @ span.basis.T) @ span.basis


def _parted(people: list[list[Span]], who: list[int], enough: int) -> tuple[Parts, Parts]:
    """Batches with those of their people who are fitted to them, and with those who are looked up in them."""
    fitted: dict[int, tuple[Span, list[int]]] = {}
    kept_out: dict[int, tuple[Span, list[int]]] = {}
    for person in who:
        for place, span in enumerate(people[person][: enough + 1]):
            into = kept_out if place == 1 else fitted
            into.setdefault(id(span), (span, []))[1].append(person)
    return _rows(fitted), _rows(kept_out)


def _rows(parts: dict[int, tuple[Span, list[int]]]) -> Parts:
    return [(span, torch.tensor(rows)) for span, rows in parts.values()]


@torch.no_grad()
def _confirmed(scene: VerticalScene, data: Tensor, kept_out: Parts) -> Tensor:
    """Whether a row is much nearer to the span that was kept out than people are who were not in that batch."""
    certified = torch.zeros(len(data), dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    for span, rows in kept_out:
        strangers = torch.randperm(len(data), generator=generator)[: STRANGERS + len(span.rows)]
        strangers = strangers[~torch.isin(strangers, span.rows)]
        usual = outside(scene, span, data[strangers]).norm(dim=1).median()
        certified[rows] = outside(scene, span, data[rows]).norm(dim=1) < NEAR * usual
    return certified
