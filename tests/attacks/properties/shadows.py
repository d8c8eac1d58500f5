"""Shadow models for tests: some that were trained, and many into which a share was planted."""

from __future__ import annotations

import functools
import itertools

import torch
from torch import Tensor
from torch.nn import functional

from seepage.models.stack import Stack

WIDTHS = (4, 4, 3, 2)
ROWS = 64
STEPS = 50


@functools.cache
def shadows(count: int, seed: int = 0) -> tuple[Stack, Tensor]:
    """Untrained networks whose last bias and whose weights of the first column tell a share, and these shares."""
    generator = torch.Generator().manual_seed(seed)
    shares = torch.rand(count, generator=generator)
    stack = random_stack(count, WIDTHS, generator)
    stack.weights[0][:, :, 0] += 2 * shares[:, None] - 1
    stack.biases[-1][:, 1] += 2 * shares
    return stack, shares


@functools.cache
def trained_shadows(count: int, seed: int = 0) -> tuple[Stack, Tensor]:
    """Networks trained on tables in which a share of the rows has the property, and these shares.

    Rows with the property have another first column, and more of them are of class 1.
    """
    generator = torch.Generator().manual_seed(seed)
    shares = torch.rand(count, generator=generator)
    has = torch.arange(ROWS) < (shares * ROWS).round()[:, None]  # (models, rows)
    rows = torch.randn(count, ROWS, WIDTHS[0], generator=generator)
    rows[:, :, 0] = 2 * has.float() - 1
    score = 3 * rows[:, :, 0] + rows[:, :, 1] + torch.randn(count, ROWS, generator=generator)
    stack = random_stack(count, WIDTHS, generator)
    parameters = [each.requires_grad_() for each in (*stack.weights, *stack.biases)]
    optimiser = torch.optim.Adam(parameters, lr=0.03)
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = functional.cross_entropy(outputs(stack, rows).flatten(0, 1), (score > 0).long().flatten())
        (loss * count).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return Stack(tuple(w.detach() for w in stack.weights), tuple(b.detach() for b in stack.biases)), shares


def random_stack(count: int, widths: tuple[int, ...], generator: torch.Generator) -> Stack:
    """Networks that have learnt nothing."""
    pairs = list(itertools.pairwise(widths))
    return Stack(
        tuple(torch.randn(count, o, i, generator=generator) / i**0.5 for i, o in pairs),
        tuple(torch.randn(count, o, generator=generator) / 10 for _, o in pairs),
    )


def outputs(stack: Stack, rows: Tensor) -> Tensor:
    """(models, rows, outputs) of (models, rows, columns)."""
    for layer, (weight, bias) in enumerate(zip(stack.weights, stack.biases, strict=True)):
        rows = torch.baddbmm(bias[:, None], functional.leaky_relu(rows) if layer else rows, weight.transpose(1, 2))
    return rows


def permuted(stack: Stack, generator: torch.Generator) -> Stack:
    """The same functions with the hidden neurons of each model in another order."""
    weights, biases = list(stack.weights), list(stack.biases)
    for layer in range(len(weights) - 1):
        order = torch.rand(biases[layer].shape, generator=generator).argsort(1)
        weights[layer] = torch.stack([each[place] for each, place in zip(weights[layer], order, strict=True)])
        biases[layer] = torch.stack([each[place] for each, place in zip(biases[layer], order, strict=True)])
        weights[layer + 1] = torch.stack([w[:, place] for w, place in zip(weights[layer + 1], order, strict=True)])
    return Stack(tuple(weights), tuple(biases))
