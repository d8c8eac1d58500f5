"""Trains many small networks at once: shadow models for property inference (the property-inference thesis, section
3.2.1).

One step of one such network is too small to keep a processor busy: a plain PyTorch loop at 509-32-16-8-2 and 64 rows
spends most of its time between the operations. Here every tensor has a leading axis of models, and a step of all of
them is thirty calls. The backward pass is written out; leaky ReLU networks need no more than a few lines.

Two forms of the first layer were measured at 509 columns, of which 501 are one-hot columns of 32 categorical ones, 64
rows, one thread, microseconds for one model and step: dense products over gathered rows 16 to gather, 21 forward, 23
backward; sums of looked-up weights 1, 5 and 15. The second is the one kept. Frequent categories as dense columns beside
lookups of the rare ones were no faster: the bookkeeping of unequal rows eats what is saved.

Arithmetic of one model and one epoch of 11,971 rows: the dense network needs 0.83 GFLOP, with lookups 0.10 GFLOP and
3.1 million Adam updates remain. Those updates read and write 0.45 MB for each model and step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from seepage._core import InputError, Streams
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_nets import Nets

CHUNK = 128  # models trained together; fewer leave time between the calls, more do not fit into the cache


def train_stack(
    recipe: Recipe,
    table: Encoded,
    rows: Tensor,
    seeds: Sequence[int],
    *,
    start: Stack | None = None,
    chunk: int = CHUNK,
) -> Stack:
    """Train one network on each line of ``rows``.

    Args:
        recipe: of all networks.
        table: all rows.
        rows: (models, count) row numbers of ``table``. The first epoch takes them in this order, later ones in an order
            of the model's seed.
        seeds: one for each model: of its first weights and later orders.
        start: first weights instead, as when a model is handed on in sequential federated learning.
        chunk: how many are trained at once.

    Guarantees:
        A model is the same whatever the others are, to within float32's rounding; after one epoch it is within 1e-4 of
        what a plain ``torch.nn.Sequential`` and ``torch.optim.Adam`` make of the same rows and weights. Where the input
        of a leaky ReLU is zero to within rounding, float32 does not determine the model, and the plain loop differs by
        as much from itself with the rows of a batch in another order: one of twelve models on Census-Income, by 0.003.
    """
    widths = (table.width, *recipe.hidden, table.classes)
    _check(table, rows, seeds, start, widths)
    if start is None:
        start = Stack.cat([first_weights(widths, seed) for seed in seeds])
    table = replace(table, numbers=functional.pad(table.numbers, (0, 1), value=1.0))  # the bias is its weight
    trained = []
    for models in torch.split(torch.arange(len(rows)), chunk):
        nets = Nets(start.take(models), table, recipe, [seeds[model] for model in models.tolist()])
        for epoch in range(recipe.epochs):
            order = rows[models] if epoch == 0 else _reordered(rows, models, seeds, epoch)
            for batch in torch.split(order, recipe.batch_size, 1):
                nets.step(batch)
        trained.append(nets.stack())
    return Stack.cat(trained)


@torch.no_grad()
def gradient_stack(
    recipe: Recipe, table: Encoded, rows: Tensor, seeds: Sequence[int], *, start: Stack, chunk: int = CHUNK
) -> Stack:
    """The gradient of the mean loss of all rows, for each network of ``start`` and its line of ``rows``.

    This is what a FedSGD client sends. With DP-SGD every row's gradient is clipped, and noise comes once.

    Args:
        recipe: clip, noise and slope are used; ``batch_size`` rows are worked on at once, which changes nothing.
        table, rows, seeds, chunk: as :func:`train_stack` has them; seeds are those of the noise.
        start: the networks, one for each line.
    """
    widths = (table.width, *recipe.hidden, table.classes)
    _check(table, rows, seeds, start, widths)
    table = replace(table, numbers=functional.pad(table.numbers, (0, 1), value=1.0))
    found = []
    for models in torch.split(torch.arange(len(rows)), chunk):
        nets = Nets(start.take(models), table, recipe, [seeds[model] for model in models.tolist()])
        found.append(nets.gradient(rows[models], recipe.batch_size))
    return Stack.cat(found)


def first_weights(widths: Sequence[int], seed: int) -> Stack:
    """One untrained network: Xavier's uniform weights, ``torch.nn.Linear``'s biases."""
    generator = torch.Generator().manual_seed(Streams(seed).integer("weights"))
    weights, biases = [], []
    for entering, leaving in itertools.pairwise(widths):
        bound = math.sqrt(6 / (entering + leaving))
        weights.append(torch.empty(1, leaving, entering).uniform_(-bound, bound, generator=generator))
        bound = 1 / math.sqrt(entering)
        biases.append(torch.empty(1, leaving).uniform_(-bound, bound, generator=generator))
    return Stack(tuple(weights), tuple(biases))


def _reordered(rows: Tensor, models: Tensor, seeds: Sequence[int], epoch: int) -> Tensor:
    """Each model's rows in the order of its seed and epoch."""
    orders = [Streams(seeds[model]).numpy("order", epoch).permutation(rows.shape[1]) for model in models.tolist()]
    return rows[models].gather(1, torch.from_numpy(np.stack(orders)))


def _check(table: Encoded, rows: Tensor, seeds: Sequence[int], start: Stack | None, widths: tuple[int, ...]) -> None:
    """Stop at rows, seeds or weights that do not belong together."""
    if rows.dim() != 2 or rows.numel() == 0:
        raise InputError(
            f"Row numbers have the shape {tuple(rows.shape)}; (models, rows of each) is needed, both 1 or more."
        )
    if not 0 <= int(rows.min()) <= int(rows.max()) < len(table):
        raise InputError(f"A row number lies outside the table's {len(table)} rows.")
    if len(seeds) != len(rows):
        raise InputError(f"There are {len(seeds)} seeds for {len(rows)} models.")
    if start is not None and (start.widths != widths or len(start) != len(rows)):
        raise InputError(
            f"The first weights are of {len(start)} models {'-'.join(map(str, start.widths))}; {len(rows)} models "
            f"{'-'.join(map(str, widths))} are trained."
        )
