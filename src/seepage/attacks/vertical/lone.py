"""Columns of categories: who may have one, and which column a single person fills.

A category's column of the first layer's weight gradient is the sum of the slopes of those in the batch who have it. One
that is zero says that nobody has it. So a person has a category only if no batch of theirs lacks it; and where a single
one of a batch may have a category that is there, its column is that person's slopes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

ROUNDING = 2e-6  # of the largest entry that a column had: float32's own
SAFE = 5.0  # times the error that rows which were taken away left behind
CLEAR = 50.0  # times the error: slopes of which zeros can be told
EARLY = 300  # batches in which nobody's slopes have vanished yet; a later empty column may be that of a sure model
SMALL = 0.01  # of the usual column: an error below it hides nobody


@dataclass(eq=False)
class Columns:
    """What is left of the columns of all batches.

    Args:
        left: (batches, neurons, categories) double; rows that are read are taken away from it.
        members: (batches, people) who was in a batch.
    """

    left: Tensor
    members: Tensor
    may: Tensor = field(init=False)  # (people, categories)
    open: Tensor = field(init=False)  # (people,) whose row is not read yet
    error: Tensor = field(init=False)  # (batches, categories)

    def __post_init__(self) -> None:
        people, categories = self.members.shape[1], self.left.shape[2]
        self.may = torch.ones(people, categories, dtype=torch.bool)
        self.open = torch.ones(people, dtype=torch.bool)
        self.error = torch.zeros(len(self.left), categories, dtype=torch.float64)
        self._largest = self.left.abs().amax(1)
        self.usual = self._usual(self._largest > 0)

    def _usual(self, present: Tensor) -> Tensor:
        """(categories,) how likely a person has one, from the share of the batches that have it."""
        size = self.members.sum(1).double().mean()
        return 1 - (1 - present.double().mean(0).clamp(max=0.9999)) ** (1 / size)

    @property
    def threshold(self) -> Tensor:
        """(batches, categories) entries up to here are error."""
        return SAFE * self.error + ROUNDING * self._largest

    def narrow(self) -> None:
        """Nobody has a category that one of their batches lacks."""
        size = self.left.abs().amax(1)
        present = size > self.threshold
        typical = torch.where(present, size, torch.nan).nanmedian(1).values[:, None]
        early = (torch.arange(len(self.left)) < EARLY)[:, None]
        trusted = early & ((self.error == 0) | (SAFE * self.error < SMALL * typical))
        self.may &= (self.members.float().T @ (~present & trusted).float()) == 0

    def lone(self) -> dict[int, dict[int, int]]:
        """By person and batch, a category whose column is that person's alone."""
        possible = self.may & self.open[:, None]
        clear = self.left.abs().amax(1) > CLEAR * self.threshold
        batches, categories = ((self.members.float() @ possible.float() == 1) & clear).nonzero(as_tuple=True)
        whose = (self.members[batches] & possible[:, categories].T).float().argmax(1)
        found: dict[int, dict[int, int]] = {}
        for person, batch, category in zip(whose.tolist(), batches.tolist(), categories.tolist(), strict=True):
            found.setdefault(person, {})[batch] = category
        return found

    def take_away(self, person: int, categories: list[int], slopes: Tensor, missed: float) -> None:
        """A row that is read: its (own batches, neurons) slopes, known up to this share."""
        batches = self.members[:, person].nonzero()[:, 0]
        for category in categories:
            self.left[batches, :, category] -= slopes
            self.error[batches, category] += missed * slopes.abs().amax(1)
        self.open[person] = False
