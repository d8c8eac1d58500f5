"""Columns of categories: what is left of them when rows that are read are taken away, and who may have one.

A category's column of the first layer's weight gradient is the sum of the slopes of those in the batch who have it. One
that is zero says that nobody in the batch has it. So a person has a category only if no batch of theirs lacks it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

ROUNDING = 5e-7  # of the largest entry that a column had: float32's own
SAFE = 5.0  # times the error that rows which were taken away left behind
CLEAR = 50.0  # times the error: slopes of which zeros can be told
EARLY = 300  # batches in which nobody's slopes have vanished yet; a later empty column may be that of a sure model
SMALL = 0.01  # of the usual column: an error below it hides nobody


@dataclass(frozen=True, eq=False)
class Part:
    """What people add to the columns of their categories, in one batch each line.

    Args:
        people, batches: (n,).
        categories: (n, blocks).
        slopes: (n, neurons); ``error`` (n,) is how far their largest may be off.
    """

    people: Tensor
    batches: Tensor
    categories: Tensor
    slopes: Tensor
    error: Tensor

    def of(self, people: Tensor) -> Part:
        """Of some people."""
        mine = torch.isin(self.people, people)
        return Part(*(each[mine] for each in vars(self).values()))

    def and_that(self, other: Part) -> Part:
        """Both."""
        return Part(*(torch.cat(both) for both in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(eq=False)
class Columns:
    """What is left of the columns of all batches.

    Args:
        left: (batches, categories, neurons) double; rows that are read are taken away from it.
        members: (batches, people) who was in a batch.
        sizes: of the blocks of categories, one of which everybody has.
    """

    left: Tensor
    members: Tensor
    sizes: tuple[int, ...]
    may: Tensor = field(init=False)  # (people, categories)
    open: Tensor = field(init=False)  # (people,) whose row is not read yet
    changed: Tensor = field(init=False)  # (batches, categories) since it was looked at
    filled: Tensor = field(init=False)  # (batches, categories) share of the neurons that are not zero

    def __post_init__(self) -> None:
        batches, categories = self.left.shape[:2]
        people = self.members.shape[1]
        self.may = torch.ones(people, categories, dtype=torch.bool)
        self.open = torch.ones(people, dtype=torch.bool)
        self._squares = torch.zeros(batches, categories, dtype=torch.float64)  # of errors that were left behind
        self.changed = torch.ones(batches, categories, dtype=torch.bool)
        self._largest = self.left.abs().amax(2)
        self.usual = self._usual(self._largest > 0)
        self.narrow()

    def _usual(self, present: Tensor) -> Tensor:
        """(categories,) how likely a person has one, from the share of the batches that have it."""
        size = self.members.sum(1).double().mean()
        return 1 - (1 - present.double().mean(0).clamp(max=0.9999)) ** (1 / size)

    @property
    def error(self) -> Tensor:
        """(batches, categories) that rows which were taken away left behind."""
        return self._squares.clamp(min=0).sqrt()

    @property
    def threshold(self) -> Tensor:
        """(batches, categories) entries up to here are error."""
        return SAFE * self.error + ROUNDING * self._largest

    @property
    def clear(self) -> Tensor:
        """(batches, categories) which are well above their error."""
        return self.left.abs().amax(2) > CLEAR * self.threshold

    def narrow(self) -> None:
        """Nobody has a category that one of their batches lacks."""
        threshold, left = self.threshold, self.left.abs()
        self.filled = (left > threshold[..., None]).float().mean(2)
        size = left.amax(2)
        present = size > threshold
        typical = torch.where(present, size, torch.nan).nanmedian(1).values[:, None]
        early = (torch.arange(len(size)) < EARLY)[:, None]
        trusted = early & (SAFE * self.error < SMALL * typical)
        self.may &= (self.members.float().T @ (~present & trusted).float()) == 0

    def candidates(self, allowed: Tensor) -> Tensor:
        """(rows, people) who may have one of the (rows, categories) that are allowed, in every block."""
        fits = torch.ones(len(allowed), len(self.may), dtype=torch.bool)
        pairs = zip(self.blocks(allowed), self.blocks(self.may), strict=True)
        for block, own in pairs:
            fits &= block.float() @ own.float().T > 0
        return fits & self.open

    def blocks(self, values: Tensor) -> tuple[Tensor, ...]:
        """(rows, categories) block by block."""
        return torch.split(values, list(self.sizes), dim=1)

    def logarithms(self, allowed: Tensor) -> Tensor:
        """(rows, categories) how usual they are, in logarithms; -inf for what is not allowed."""
        return torch.where(allowed, self.usual.clamp(min=1e-4).log(), -torch.inf).float()

    def take_away(self, part: Part) -> None:
        """Take what people add to columns away."""
        for column in part.categories.T:
            self.left.index_put_((part.batches, column), -part.slopes, accumulate=True)
            self._squares.index_put_((part.batches, column), part.error.square(), accumulate=True)
            self.changed[part.batches, column] = True

    def put_back(self, part: Part) -> None:
        """Undo what was taken away, but for rounding."""
        for column in part.categories.T:
            self.left.index_put_((part.batches, column), part.slopes, accumulate=True)
            self._squares.index_put_((part.batches, column), -part.error.square(), accumulate=True)
