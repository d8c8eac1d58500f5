r"""All rows in a span that are valid under the schema.

A record's input is a combination :math:`c R` of the span's basis whose bias entry is 1 and whose blocks each stand for
one category. The categorical columns are fixed one after the other. What a column leaves free does not depend on the
category that was chosen, only the particular solution does: one decomposition serves all nodes of a level, and a level
is one product of matrices. The numbers come along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage.attacks.exact.view import View

LOOSE = 0.02  # how far a block may be from a category, in units of the distance of two categories


@dataclass(frozen=True, eq=False)
class Leaves:
    """Rows in the span.

    Args:
        codes: (leaves, categorical columns).
        numbers: (leaves, numeric) as inputs; one point of a family if there is one.
        family: (free, numeric) directions in which the categories leave the numbers open, the same for all leaves.
        complete: every valid row of the span is here. False when the budget was spent.
        nodes: how many were looked at.
    """

    codes: Tensor
    numbers: Tensor
    family: Tensor
    complete: bool
    nodes: int

    @property
    def free(self) -> int:
        """Dimensions that the categories leave open."""
        return len(self.family)


def span_search(view: View, budget: int) -> Leaves:
    """Find all valid rows in the span of the first layer.

    Args:
        budget: nodes to look at; when they are spent the result is empty and not complete.
    """
    span = view.entrance
    none = torch.zeros(0, view.numeric).double()
    nothing = Leaves(torch.zeros(0, len(view.codes), dtype=torch.long), none, none, False, 0)
    if span is None or not span.rank:
        return nothing
    basis, blocks = span.right, view.space.layout.blocks
    blur = span.error * sum(side**0.5 for side in (len(span.left), basis.shape[1])) / float(span.values[span.rank - 1])
    cut = max(1e-6, 10 * blur)
    if cut > 0.1:
        return nothing
    point, free = basis.new_zeros(1, span.rank), torch.eye(span.rank, dtype=basis.dtype)
    if basis.shape[1] > view.space.layout.width:  # the bias entry is 1
        point, free, miss = _fix(point, free, basis[:, -1:], torch.ones(1, 1, dtype=basis.dtype), cut)
        if float(miss) > 0.5:
            return nothing
    codes = torch.zeros(1, len(blocks), dtype=torch.long)
    left, nodes = list(range(len(blocks))), 0
    while left:
        # Where nothing is free any more every column only checks, and their order does not matter.
        column = _best_column(view, basis, free, left, cut) if free.shape[1] else left[0]
        left.remove(column)
        block, table = basis[:, blocks[column]], view.codes[column]
        choices = view.allowed[column].nonzero()[:, 0]
        nodes += len(point) * len(choices)
        if nodes > budget:
            return replace(nothing, nodes=nodes)
        spread = float((table[0] - table[1]).norm()) if len(table) > 1 else 1.0
        children, parents = [], []
        for choice in choices.tolist():
            moved, freed, miss = _fix(point, free, block, table[choice].expand(len(point), -1), cut)
            keep = (miss < (LOOSE + 20 * blur) * spread).nonzero()[:, 0]
            chosen = codes[keep].clone()
            chosen[:, column] = choice
            children.append(moved[keep])
            parents.append(chosen)
        point, codes, free = torch.cat(children), torch.cat(parents), freed
        if not len(point):
            return replace(nothing, complete=True, nodes=nodes)
    numbers = basis[:, : view.numeric]
    return Leaves(codes, point @ numbers, free.T @ numbers, True, nodes)


def _fix(point: Tensor, free: Tensor, part: Tensor, wanted: Tensor, cut: float) -> tuple[Tensor, Tensor, Tensor]:
    """Move every node's point inside its free directions so that ``point @ part`` is what is wanted.

    Returns:
        the points (nodes, rank), the directions left free (rank, fewer), and how far each node missed it (nodes,).
    """
    lack = wanted - point @ part
    reach = free.T @ part  # (free, entries)
    # All of ``left`` is needed; all of ``right`` would be square in the categories of the column.
    left, values, right = torch.linalg.svd(reach, full_matrices=len(reach) > reach.shape[1])
    rank = int((values > cut).sum())
    along = lack @ right[:rank].T
    miss = (lack - along @ right[:rank]).norm(dim=1)
    moved = point + (along / values[:rank]) @ left[:, :rank].T @ free.T
    return moved, free @ left[:, rank:], miss


def _best_column(view: View, basis: Tensor, free: Tensor, left: list[int], cut: float) -> int:
    """The column that buys most: fewest children for every dimension it fixes; columns that only check come first."""
    blocks = view.space.layout.blocks

    def price(column: int) -> float:
        reach = free.T @ basis[:, blocks[column]]
        rank = int((torch.linalg.svdvals(reach) > cut).sum())
        return math.log(max(int(view.allowed[column].sum()), 1)) / rank if rank else -1.0

    return min(left, key=price)
