r"""How misses react to a row's numbers, and the least squares that follow: a step, an error, what no numbers explain.

There are two ways to hold the same derivative. :class:`Dense` writes it down, entry by entry. :class:`Projected` is for
wide tables: the first layer's part is a projection, :math:`I - R^\top R` with the few rows of the span's basis
:math:`R`, and deeper layers add one row for each of their equations. So the normal matrix of the numbers is a diagonal
and a few more directions, and Woodbury's identity solves it: its cost grows with the number of columns, not with its
cube.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

TURNS = 10  # of inverse iteration
RIDGE = 1e-14  # of the largest entry: directions that nothing determines get a huge error from it


@dataclass(frozen=True, eq=False)
class Dense:
    """The derivative itself.

    Args:
        slope: (rows, equations, numeric).
    """

    slope: Tensor

    def where(self, better: Tensor, other: Slopes) -> Dense:
        """Row by row the other's where it is better, else this one's."""
        assert isinstance(other, Dense)
        return Dense(torch.where(better[:, None, None], other.slope, self.slope))

    def step(self, miss: Tensor, damping: Tensor, moving: Tensor) -> Tensor:
        """(rows, numeric) a damped step of Gauss-Newton.

        Args:
            miss: (rows, equations).
            damping: (rows,).
            moving: (rows, numeric) 1 for numbers that move.
        """
        active = self.slope * moving[:, None]
        square = active.transpose(1, 2) @ active
        ridge = damping[:, None] * torch.diagonal(square, dim1=1, dim2=2) + 1e-12
        found: Tensor = torch.linalg.solve(square + torch.diag_embed(ridge), active.transpose(1, 2) @ miss[..., None])
        return found[..., 0]

    def errors(self, held: Tensor | None) -> Tensor:
        """(rows, numeric) how far a number moves at most when the misses change by a length of 1."""
        slope = self.slope if held is None else self.slope * (~held)[:, None]
        square = slope.transpose(1, 2) @ slope
        ridge = RIDGE * torch.diagonal(square, dim1=1, dim2=2).amax(1).clamp(min=1e-16)
        inverse = torch.linalg.inv(square + torch.diag_embed(ridge[:, None].expand(-1, slope.shape[2])))
        return torch.diagonal(inverse, dim1=1, dim2=2).clamp(min=0).sqrt()

    def weakest(self, held: Tensor | None) -> Tensor:
        """(rows, numeric) the direction of length 1 in which numbers are known worst."""
        square = self.slope.transpose(1, 2) @ self.slope
        if held is not None:
            free = (~held).to(square.dtype)
            largest = torch.diagonal(square, dim1=1, dim2=2).amax(1) + 1.0
            square = square * free[:, :, None] * free[:, None] + torch.diag_embed(2 * largest[:, None] * (1 - free))
        found: Tensor = torch.linalg.eigh(square)[1][:, :, 0]
        return found

    def rest(self, misses: Tensor) -> Tensor:
        """(rows, choices, equations) what is left of misses when the numbers are fitted again."""
        if not self.slope.shape[2]:
            return misses
        return misses - (misses @ self._basis) @ self._basis.transpose(1, 2)

    @cached_property
    def _basis(self) -> Tensor:
        """(rows, equations, numeric) an orthonormal basis of all that numbers can do."""
        basis: Tensor = torch.linalg.qr(self.slope)[0]
        return basis


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal matrix: a diagonal, less the products of some directions with themselves, plus those of others.

    Args:
        few: (rows, directions, numeric).
        scaled: the same, divided by the diagonal.
        diagonal: (rows, numeric).
        factors: Woodbury's small matrix (rows, directions, directions), decomposed.
    """

    few: Tensor
    scaled: Tensor
    diagonal: Tensor
    factors: tuple[Tensor, Tensor]

    @classmethod
    def of(cls, few: Tensor, diagonal: Tensor, less: int) -> Normal:
        """The matrix of these parts; the first ``less`` directions are those that are taken away."""
        signs = few.new_ones(few.shape[1])
        signs[:less] = -1
        scaled = few / diagonal[:, None]
        left, pivots = torch.linalg.lu_factor(torch.diag(signs) + scaled @ few.transpose(1, 2))
        return cls(few, scaled, diagonal, (left, pivots))

    def solve(self, wanted: Tensor) -> Tensor:
        """(rows, choices, numeric) the inverse times what is wanted, of the same shape."""
        plain = wanted / self.diagonal[:, None]
        found: Tensor = torch.linalg.lu_solve(*self.factors, self.few @ plain.transpose(1, 2))
        return plain - found.transpose(1, 2) @ self.scaled

    def inverse_diagonal(self) -> Tensor:
        """(rows, numeric) the diagonal of the inverse."""
        found: Tensor = torch.linalg.lu_solve(*self.factors, self.scaled)
        return 1 / self.diagonal - (self.scaled * found).sum(1)


@dataclass(frozen=True, eq=False)
class Projected:
    """The derivative in parts: a projection for the first layer, and rows for the others.

    Args:
        right: (rank, inputs) orthonormal rows of the first layer's span; the numbers come first.
        weight: how much the first layer's misses weigh.
        place: where they begin among all misses; there are as many as inputs.
        others: (rows, other equations, numeric) the derivative of all other misses.
    """

    right: Tensor
    weight: float
    place: int
    others: Tensor

    def where(self, better: Tensor, other: Slopes) -> Projected:
        """Row by row the other's where it is better, else this one's."""
        assert isinstance(other, Projected)
        return replace(self, others=torch.where(better[:, None, None], other.others, self.others))

    def step(self, miss: Tensor, damping: Tensor, moving: Tensor) -> Tensor:
        """(rows, numeric) a damped step of Gauss-Newton, as :meth:`Dense.step`."""
        few, size = self._few(moving)
        normal = Normal.of(few, self.weight**2 * moving + damping[:, None] * size + 1e-12, len(self.right))
        return normal.solve(self._back(miss[:, None]) * moving[:, None])[:, 0]

    def errors(self, held: Tensor | None) -> Tensor:
        """(rows, numeric) the diagonal of the inverse normal matrix, as :meth:`Dense.errors`."""
        normal = self._free if held is None else self._undamped((~held).to(self.others.dtype))
        return normal.inverse_diagonal().clamp(min=0).sqrt()

    def weakest(self, held: Tensor | None) -> Tensor:
        """(rows, numeric) the direction in which numbers are known worst, by inverse iteration, as :class:`Dense`."""
        moving = self.others.new_ones(len(self.others), self.others.shape[2])
        if held is not None:
            moving = (~held).to(self.others.dtype)
        normal = self._free if held is None else self._undamped(moving)
        found = torch.randn(moving.shape, generator=torch.Generator().manual_seed(0)).to(moving) * moving
        for _ in range(TURNS):
            found = normal.solve(found[:, None])[:, 0] * moving
            found = found / found.norm(dim=1, keepdim=True).clamp(min=1e-300)
        return found

    def rest(self, misses: Tensor) -> Tensor:
        """(rows, choices, equations) what is left of misses when the numbers are fitted again."""
        for _ in range(2):  # the second time for the rounding that the normal matrix leaves
            misses = misses - self._forth(self._free.solve(self._back(misses)))
        return misses

    @cached_property
    def _free(self) -> Normal:
        """The normal matrix of all numbers."""
        return self._undamped(self.others.new_ones(len(self.others), self.others.shape[2]))

    def _undamped(self, moving: Tensor) -> Normal:
        few, size = self._few(moving)
        ridge = RIDGE * size.amax(1, keepdim=True).clamp(min=1e-16)
        return Normal.of(few, self.weight**2 * moving + ridge, len(self.right))

    def _few(self, moving: Tensor) -> tuple[Tensor, Tensor]:
        """The directions beyond the diagonal, the span's first; and (rows, numeric) the normal matrix's diagonal."""
        numeric = moving.shape[1]
        inside = self.weight * self.right[:, :numeric]
        few = torch.cat([inside.expand(len(moving), -1, -1), self.others], 1) * moving[:, None]
        square = few.square()
        rank = len(inside)
        return few, self.weight**2 * moving - square[:, :rank].sum(1) + square[:, rank:].sum(1)

    def _back(self, misses: Tensor) -> Tensor:
        """(rows, choices, numeric) the transposed derivative times misses; the first layer's are beyond its span."""
        first, others = self._parts(misses)
        return self.weight * first[..., : self.others.shape[2]] + others @ self.others

    def _forth(self, moves: Tensor) -> Tensor:
        """(rows, choices, equations) the derivative times moves of the numbers."""
        numeric = moves.shape[2]
        first = -(moves @ self.right[:, :numeric].T) @ self.right
        first[..., :numeric] += moves
        others = moves @ self.others.transpose(1, 2)
        return torch.cat([others[..., : self.place], self.weight * first, others[..., self.place :]], -1)

    def _parts(self, misses: Tensor) -> tuple[Tensor, Tensor]:
        """The first layer's misses, and the others."""
        end = self.place + self.right.shape[1]
        return misses[..., self.place : end], torch.cat([misses[..., : self.place], misses[..., end:]], -1)


Slopes = Dense | Projected
