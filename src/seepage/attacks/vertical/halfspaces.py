r"""Rows inside half-spaces: an active neuron says :math:`w^\top x + c > 0`, and one at rest the opposite."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from seepage.data import Layout

SHARP = 15.0  # how steeply a wrong side costs
RIDGE = 0.05  # on numbers, which are about 1 apart
PRIOR = 0.1  # of usual categories
RATE = 0.15
WIDTHS = (0.1, 0.03, 0.01, 0.004)  # of the edge, from soft to sharp
TURNS = 5  # of Newton's method for each
FARTHEST = 0.3  # that one turn moves a number


def categories_inside(
    weights: Tensor, bias: Tensor, sides: Tensor, usual: Tensor, layout: Layout, steps: int
) -> Tensor:
    """Rows on the right side of as many planes as can be, with one-hot categories; numbers are rough.

    Args:
        weights: (people, planes, inputs).
        bias: (people, planes).
        sides: (people, planes) 1, -1, or 0 where nothing is known.
        usual: (people, one-hot inputs) logarithms of how usual a category is; -inf where it cannot be.
    """
    logits = usual.clamp(min=-30).clone().requires_grad_()
    numbers = torch.zeros(len(weights), layout.numeric, requires_grad=True)
    adam = torch.optim.Adam([logits, numbers], lr=RATE)
    for _ in range(steps):
        blocks = [block.softmax(1) for block in _split(logits + usual.clamp(min=-30), layout)]
        rows = torch.cat([numbers, *blocks], 1)
        z = torch.bmm(weights, rows[:, :, None])[:, :, 0] + bias
        wrong = (functional.softplus(-SHARP * sides * z) * sides.abs()).sum() / 10
        loss = wrong + RIDGE * numbers.square().sum() - PRIOR * (torch.cat(blocks, 1) * usual.clamp(min=-30)).sum()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    onehot = [functional.one_hot(each.argmax(1), each.shape[1]) for each in _split(logits + usual, layout)]
    return torch.cat([numbers.detach(), *(each.to(numbers.dtype) for each in onehot)], 1)


def numbers_inside(coefficients: Tensor, rest: Tensor, sides: Tensor, start: Tensor) -> Tensor:
    """Numbers on the right side of all planes, as near to their middle as a soft edge says: convex, by Newton.

    Args:
        coefficients: (people, planes, numbers); ``rest`` (people, planes) is what categories and biases add.
        sides: (people, planes) 1, -1, or 0 where nothing is known.
    """
    numbers, ridge = start, 1e-3 * torch.eye(start.shape[1], dtype=start.dtype)
    for width in WIDTHS:
        for _ in range(TURNS):
            z = (rest + torch.einsum("prn,pn->pr", coefficients, numbers)) * sides / width
            pull = torch.sigmoid(-z) * sides.abs()
            slope = 1e-3 * numbers - torch.einsum("prn,pr->pn", coefficients, pull * sides / width)
            bend = torch.einsum("prn,pr,prm->pnm", coefficients, pull * (1 - pull) / width**2, coefficients) + ridge
            numbers = numbers - torch.linalg.solve(bend, slope).clamp(-FARTHEST, FARTHEST)
    return numbers


def _split(values: Tensor, layout: Layout) -> tuple[Tensor, ...]:
    return torch.split(values, list(layout.sizes), dim=1)
