"""Sightings: columns of a category that one person of the batch fills, whoever it is.

One person's slopes are a scale times a path through the active neurons of two layers. Slopes of two people are not: the
best path misses a tenth of them and more, where one person's is missed by rounding. So a column says by itself whether
one person fills it, with both patterns and the scale. The same slopes are then looked for in the batch's other columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.vertical.columns import Columns
from seepage.attacks.vertical.halfspaces import categories_inside, numbers_inside
from seepage.attacks.vertical.relu_slopes import Net, decoded
from seepage.data import Layout

AT_ONCE = 2048  # columns
FULLEST = 0.8  # share of neurons: one person's slopes have more zeros
ONE = 1e-3  # share of the slopes that one person's path may miss, beside the column's own error; two miss 0.1
LEAST = 0.03  # it may never miss more
ACTIVE = 1e-5  # of the largest slope: below it a neuron is at rest
SAME = 1e-5  # of a slope: two that differ by less are one
EQUAL = 2  # neurons that must be the same in another column
STEPS = 20  # of the descent: rough categories are enough to find the pattern
SAW = 1e-3  # of the slopes: a column that changed by more was taken from


@dataclass(frozen=True, eq=False)
class Sightings:
    """Columns that one person fills.

    Args:
        batches, categories: (n,) where.
        slopes: (n, neurons); ``active`` says which are not at rest.
        pattern: (n, neurons) of the second layer; ``error`` (n,) of the output.
        allowed: (n, categories) which the person can have by the batch's other columns.
    """

    batches: Tensor
    categories: Tensor
    slopes: Tensor
    active: Tensor
    pattern: Tensor
    error: Tensor
    allowed: Tensor

    def __len__(self) -> int:
        return len(self.batches)

    def at(self, places: Tensor) -> Sightings:
        """Some of them."""
        return Sightings(*(each[places] for each in vars(self).values()))

    def and_those(self, other: Sightings) -> Sightings:
        """All of both."""
        return Sightings(*(torch.cat(both) for both in zip(vars(self).values(), vars(other).values(), strict=True)))

    def stand(self, columns: Columns) -> Tensor:
        """(n,) which columns still are what was seen."""
        off = (columns.left[self.batches, self.categories] - self.slopes).abs().amax(1)
        return off < SAW * self.slopes.abs().amax(1)


def sightings(columns: Columns, net: Net, layout: Layout, until: int) -> Sightings:
    """Columns of the first batches, as many as are said, that changed since they were looked at and that one fills."""
    wanted = columns.changed & columns.clear & (columns.filled < FULLEST)
    wanted[until:] = False
    columns.changed[:until] = False
    batches, categories = _distinct(columns, *wanted.nonzero(as_tuple=True))
    found = [
        _decoded(columns, net, layout, batches[begin : begin + AT_ONCE], categories[begin : begin + AT_ONCE])
        for begin in range(0, max(len(batches), 1), AT_ONCE)
    ]
    every = found[0]
    for each in found[1:]:
        every = every.and_those(each)
    return every


def _distinct(columns: Columns, batches: Tensor, categories: Tensor) -> tuple[Tensor, Tensor]:
    """Without columns of a batch that are the same: one person fills both."""
    size = columns.left[batches, categories].norm(dim=1)
    order = torch.argsort(size, stable=True)
    order = order[torch.argsort(batches[order], stable=True)]
    batches, categories, size = batches[order], categories[order], size[order]
    again = torch.zeros(len(batches), dtype=torch.bool)
    if len(batches) > 1:
        again[1:] = (batches[1:] == batches[:-1]) & (size[1:] - size[:-1] <= SAME * size[1:])
    return batches[~again], categories[~again]


def _decoded(columns: Columns, net: Net, layout: Layout, batches: Tensor, categories: Tensor) -> Sightings:
    """Those of these columns that one person fills."""
    seen, threshold = columns.left[batches, categories], columns.threshold[batches, categories]
    largest = seen.abs().amax(1)
    active = seen.abs() > torch.maximum(threshold, ACTIVE * largest)[:, None]
    own = net.at(batches)
    found = decoded(own, seen, active, _roughly(columns, net, layout, batches, categories, active).double())
    noise = threshold * active.sum(1).sqrt() / seen.norm(dim=1).clamp(min=1e-300)
    one = found.missing < (ONE + noise).clamp(max=LEAST)
    batches, categories, seen, active = batches[one], categories[one], seen[one], active[one]
    allowed = _allowed(columns, batches, seen, active)
    return Sightings(batches, categories, seen, active, found.pattern[one], found.error[one], allowed)


def _roughly(columns: Columns, net: Net, layout: Layout, batches: Tensor, categories: Tensor, active: Tensor) -> Tensor:
    """(columns, inputs) rows inside the first layer's half-spaces; columns of a batch share its planes."""
    rows = torch.zeros(len(batches), layout.width)
    if not len(batches):
        return rows
    moments, place = torch.unique_consecutive(batches, return_inverse=True)
    first = torch.searchsorted(place, torch.arange(len(moments)))
    slot = torch.arange(len(batches)) - first[place]
    most = int(slot.max()) + 1
    block = torch.repeat_interleave(torch.arange(len(layout.sizes)), torch.tensor(layout.sizes))
    others = (block != block[categories][:, None]) | (torch.arange(len(block)) == categories[:, None])
    usual = torch.zeros(len(moments), most, len(block))
    usual[place, slot] = columns.logarithms(others)
    sides = torch.zeros(len(moments), most, active.shape[1])
    sides[place, slot] = 2.0 * active - 1
    inside = categories_inside(net.w1[moments].float(), net.c1[moments].float(), sides, usual, layout, STEPS)
    return inside[place, slot]


def _allowed(columns: Columns, batches: Tensor, seen: Tensor, active: Tensor) -> Tensor:
    """(n, categories) that the person can have: another column that is zero where a slope is not lacks the person;
    one that is the same where nobody else is active holds it."""
    allowed = torch.ones(len(batches), columns.left.shape[1], dtype=torch.bool)
    for begin in range(0, len(batches), AT_ONCE // 8):
        part = slice(begin, begin + AT_ONCE // 8)
        left, threshold, own = columns.left[batches[part]], columns.threshold[batches[part]], seen[part][:, None]
        clear = active[part][:, None] & (own.abs() > 20 * threshold[..., None])
        same = (left - own).abs() <= SAME * own.abs() + threshold[..., None]
        lacking = ((left.abs() <= threshold[..., None]) & clear).any(2)
        holding = (same & clear).sum(2) >= EQUAL
        blocks = zip(columns.blocks(holding), columns.blocks(~lacking), strict=True)
        allowed[part] = torch.cat([torch.where(held.any(1, keepdim=True), held, may) for held, may in blocks], 1)
    return allowed


def rows_of(
    seen: Sightings, there: Tensor, may: Tensor, columns: Columns, net: Net, layout: Layout, steps: int
) -> Tensor:
    """Rows inside the half-spaces of both layers.

    Args:
        seen: sightings (rows * each) of rows, one row's after the other.
        there: (rows, each) which of them there are; the others only fill up.
        may: (rows, categories) that are not excluded otherwise.

    Returns:
        (rows, inputs), numbers roughly.
    """
    rows, each = there.shape
    own = net.at(seen.batches)
    through = own.w2 * seen.active[:, None]  # the second layer's planes, where the first layer's pattern is seen
    weights = torch.cat([own.w1, torch.bmm(through, own.w1)], 1)
    bias = torch.cat([own.c1, torch.einsum("nmk,nk->nm", through, own.c1) + own.c2], 1)
    sides = torch.cat([2.0 * seen.active - 1, 2.0 * seen.pattern - 1], 1).double()
    weights = weights.reshape(rows, -1, layout.width)
    bias, sides = bias.reshape(rows, -1), (sides.reshape(rows, each, -1) * there[..., None]).reshape(rows, -1)
    allowed = may & (seen.allowed.reshape(rows, each, -1) | ~there[..., None]).all(1)
    blocks = zip(columns.blocks(allowed), columns.blocks(may), strict=True)
    allowed = torch.cat([torch.where(block.any(1, keepdim=True), block, all_) for block, all_ in blocks], 1)
    usual = columns.logarithms(allowed)
    found = categories_inside(weights.float(), bias.float(), sides[:, None].float(), usual[:, None], layout, steps)
    inside, numeric = found[:, 0].double(), layout.numeric
    rest = torch.einsum("nrd,nd->nr", weights[..., numeric:], inside[:, numeric:]) + bias
    numbers = numbers_inside(weights[..., :numeric], rest, sides, inside[:, :numeric])
    return torch.cat([numbers, inside[:, numeric:]], 1)
