"""What stacked networks answer, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from seepage._core import InputError
from seepage.models.encoded import Encoded
from seepage.models.lookup import summed
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack

EVALUATED = 4096  # rows that go through a network at once


@torch.no_grad()
def logits(stack: Stack, table: Encoded, slope: float = Recipe.slope) -> Iterator[Tensor]:
    """(rows, classes) of one model after the other."""
    check_widths(stack, table)
    numeric = table.numbers.shape[1]
    blocks = list(zip(torch.split(table.numbers, EVALUATED), torch.split(table.places, EVALUATED), strict=True))
    for model in range(len(stack)):
        first, *others = [weight[model].T.contiguous() for weight in stack.weights]
        bias, *biases = [each[model] for each in stack.biases]
        looked_up = torch.cat([first[numeric:], torch.zeros(1, first.shape[1])])
        parts = []
        for numbers, places in blocks:
            signal = summed(looked_up, places).addmm_(numbers, first[:numeric]).add_(bias)
            for weight, shift in zip(others, biases, strict=True):
                signal = torch.addmm(shift, functional.leaky_relu_(signal, slope), weight)
            parts.append(signal)
        yield torch.cat(parts)


def accuracy(stack: Stack, table: Encoded, slope: float = Recipe.slope) -> tuple[Tensor, Tensor]:
    """(models,) share of rows whose class is found, and the mean of that share over the classes, rare ones alike."""
    if len(table) == 0 or len(stack) == 0:
        raise InputError(f"There are {len(table)} rows and {len(stack)} models; accuracy needs at least one of each.")
    sizes = torch.bincount(table.labels, minlength=table.classes)
    found = []
    for scores in logits(stack, table, slope):
        right = table.labels[scores.argmax(1) == table.labels]
        found.append(torch.bincount(right, minlength=table.classes))
    hits = torch.stack(found)  # (models, classes)
    there = sizes > 0
    return hits.sum(1) / len(table), (hits[:, there] / sizes[there]).mean(1)


def check_widths(stack: Stack, table: Encoded) -> None:
    """Stop at models that do not fit the rows."""
    if (stack.widths[0], stack.widths[-1]) != (table.width, table.classes):
        raise InputError(
            f"The models are {'-'.join(map(str, stack.widths))}, but the rows have {table.width} columns and "
            f"{table.classes} classes."
        )
