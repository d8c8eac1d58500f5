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
LOOSE = 1e-3  # precision of numbers of which nothing is known
FARTHEST = 0.3  # that one turn moves a number
UNUSUAL = -30.0  # logarithm of what cannot be


def categories_inside(
    weights: Tensor, bias: Tensor, sides: Tensor, usual: Tensor, layout: Layout, steps: int
) -> Tensor:
    """Rows on the right side of as many planes as can be, with one-hot categories; numbers are rough.

    Args:
        weights: (groups, planes, inputs): rows of a group share their planes.
        bias: (groups, planes).
        sides: (groups, rows, planes) 1, -1, or 0 where nothing is known.
        usual: (groups, rows, one-hot inputs) logarithms of how usual a category is; -inf where it cannot be.

    Returns:
        (groups, rows, inputs).
    """
    prior = usual.clamp(min=UNUSUAL)
    logits = prior.clone().requires_grad_()
    numbers = torch.zeros(*usual.shape[:2], layout.numeric, requires_grad=True)
    adam, across = torch.optim.Adam([logits, numbers], lr=RATE), weights.transpose(1, 2)
    signs, known = -SHARP * sides, sides.abs() / 10
    for _ in range(steps):
        blocks = torch.cat([block.softmax(2) for block in _split(logits + prior, layout)], 2)
        z = torch.bmm(torch.cat([numbers, blocks], 2), across) + bias[:, None]
        wrong = (functional.softplus(signs * z) * known).sum()
        loss = wrong + RIDGE * numbers.square().sum() - PRIOR * (blocks * prior).sum()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    onehot = [functional.one_hot(each.argmax(2), each.shape[2]) for each in _split(logits.detach() + usual, layout)]
    return torch.cat([numbers.detach(), *(each.to(numbers.dtype) for each in onehot)], 2)


def numbers_inside(
    coefficients: Tensor, rest: Tensor, sides: Tensor, start: Tensor, known: Tensor | None = None
) -> Tensor:
    """Numbers on the right side of all planes, as near to their middle as a soft edge says: convex, by Newton.

    Args:
        coefficients: (people, planes, numbers); ``rest`` (people, planes) is what categories and biases add.
        sides: (people, planes) 1, -1, or 0 where nothing is known.
        known: (people, numbers, numbers) precision of ``start``, where other things tell something of the numbers.
    """
    few = LOOSE * torch.eye(start.shape[1], dtype=start.dtype)
    numbers, center, ridge = start, torch.zeros_like(start), few.expand(len(start), -1, -1)
    if known is not None:
        center, ridge = start, few + known
    for width in WIDTHS:
        for _ in range(TURNS):
            z = (rest + torch.einsum("prn,pn->pr", coefficients, numbers)) * sides / width
            pull = torch.sigmoid(-z) * sides.abs()
            slope = torch.einsum("pnm,pm->pn", ridge, numbers - center)
            slope = slope - torch.einsum("prn,pr->pn", coefficients, pull * sides / width)
            bent = coefficients * (pull * (1 - pull) / width**2)[..., None]
            bend = torch.bmm(bent.transpose(1, 2), coefficients) + ridge
            numbers = numbers - torch.linalg.solve(bend, slope).clamp(-FARTHEST, FARTHEST)
    return numbers


def _split(values: Tensor, layout: Layout) -> tuple[Tensor, ...]:
    return torch.split(values, list(layout.sizes), dim=2)
