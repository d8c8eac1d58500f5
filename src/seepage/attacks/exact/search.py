r"""All rows in a span that are valid under the schema.

A record's input is a combination :math:`c R` of the span's basis whose bias entry is 1 and whose blocks each stand for
one category. The categorical columns are fixed one after the other. What a column leaves free does not depend on the
category that was chosen, only the particular solution does: the order of the columns and one decomposition for each are
made once, before anything is walked, and a step is one product of matrices. The walk goes down first, many nodes
at a time, so that tens of millions of them need no more memory than a few thousand. The numbers come along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage.attacks.exact.view import View

LOOSE = 0.02  # how far a block may be from a category, in units of the distance of two categories
AT_ONCE = 20_000  # nodes that go down together


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


@dataclass(frozen=True, eq=False)
class _Level:
    """One column, as it is fixed when all columns before it are.

    Args:
        column: which one; the bias has none.
        part: (rank, entries) the basis in it.
        choices, wanted: the categories that it can have, and (choices, entries) how they look.
        inside: (fixed, entries) what of the entries can still be chosen.
        move: (fixed, rank) how a point moves for it.
        slack: how far the entries may be from a category.
    """

    column: int | None
    part: Tensor
    choices: Tensor
    wanted: Tensor
    inside: Tensor
    move: Tensor
    slack: float

    def children(self, point: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Where each choice leads from each node that can make it."""
        here, points, parents = point @ self.part, [], []
        for choice, wanted in zip(self.choices.tolist(), self.wanted, strict=True):
            lack = wanted - here
            along = lack @ self.inside.T
            keep = ((lack - along @ self.inside).norm(dim=1) < self.slack).nonzero()[:, 0]
            points.append(point[keep] + along[keep] @ self.move)
            chosen = codes[keep]
            if self.column is not None:
                chosen[:, self.column] = choice
            parents.append(chosen)
        return torch.cat(points), torch.cat(parents)


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
    blur = (
        span.error
        * sum(side**0.5 for side in (len(span.left), span.right.shape[1]))
        / float(span.values[span.rank - 1])
    )
    if max(1e-6, 10 * blur) > 0.1:
        return nothing
    levels, free = _levels(view, span.right, blur)
    waiting = [(0, span.right.new_zeros(1, span.rank), torch.zeros(1, len(view.codes), dtype=torch.long))]
    points, found, nodes = [waiting[0][1][:0]], [waiting[0][2][:0]], 0
    while waiting:
        depth, point, codes = waiting.pop()
        if depth == len(levels):
            points.append(point)
            found.append(codes)
            continue
        level = levels[depth]
        nodes += len(point) * len(level.choices) if level.column is not None else 0
        if nodes > budget:
            return replace(nothing, nodes=nodes)
        pieces = zip(*(torch.split(each, AT_ONCE) for each in level.children(point, codes)), strict=True)
        waiting += [(depth + 1, *piece) for piece in pieces if len(piece[0])]
    numbers = span.right[:, : view.numeric]
    return Leaves(torch.cat(found), torch.cat(points) @ numbers, free.T @ numbers, True, nodes)


def _levels(view: View, basis: Tensor, blur: float) -> tuple[list[_Level], Tensor]:
    """The columns in the order in which they are fixed, and the directions that all of them leave free."""
    blocks, cut = view.space.layout.blocks, max(1e-6, 10 * blur)
    free, left, levels = torch.eye(len(basis), dtype=basis.dtype), list(range(len(blocks))), []
    if basis.shape[1] > view.space.layout.width:  # the bias entry is 1
        one = torch.ones(1, 1, dtype=basis.dtype)
        inside, move, free = _fixed(free, basis[:, -1:], cut)
        levels.append(_Level(None, basis[:, -1:], torch.zeros(1), one, inside, move, 0.5))
    while left:
        # Where nothing is free any more every column only checks, and their order does not matter.
        column = _best_column(view, basis, free, left, cut) if free.shape[1] else left[0]
        left.remove(column)
        part, table = basis[:, blocks[column]], view.codes[column]
        choices = view.allowed[column].nonzero()[:, 0]
        spread = float((table[0] - table[1]).norm()) if len(table) > 1 else 1.0
        inside, move, free = _fixed(free, part, cut)
        levels.append(_Level(column, part, choices, table[choices], inside, move, (LOOSE + 20 * blur) * spread))
    return levels, free


def _fixed(free: Tensor, part: Tensor, cut: float) -> tuple[Tensor, Tensor, Tensor]:
    """What of some entries can be chosen inside the free directions, how a point moves for it, what is free then."""
    reach = free.T @ part  # (free, entries)
    # All of ``left`` is needed; all of ``right`` would be square in the categories of the column.
    left, values, right = torch.linalg.svd(reach, full_matrices=len(reach) > reach.shape[1])
    rank = int((values > cut).sum())
    return right[:rank], (free @ (left[:, :rank] / values[:rank])).T, free @ left[:, rank:]


def _best_column(view: View, basis: Tensor, free: Tensor, left: list[int], cut: float) -> int:
    """The column that buys most: fewest children for every dimension it fixes; columns that only check come first."""
    blocks = view.space.layout.blocks

    def price(column: int) -> float:
        reach = free.T @ basis[:, blocks[column]]
        rank = int((torch.linalg.svdvals(reach) > cut).sum())
        return math.log(max(int(view.allowed[column].sum()), 1)) / rank if rank else -1.0

    return min(left, key=price)
