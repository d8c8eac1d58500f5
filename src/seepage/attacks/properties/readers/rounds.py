"""Several rounds of one client, read by one reader."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seepage.attacks.properties.readers.reader import Parts, Reader
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """What a client sent in several rounds: each is read by a network of its own, side by side.

    Args:
        reader: of one round.
        rounds: how many stand in a stack, one after the other (:meth:`Stack.chained`).
    """

    reader: Reader
    rounds: int

    def parts(self, stack: Stack) -> Parts:
        return tuple(part for each in stack.rounds(self.rounds) for part in self.reader.parts(each))

    def network(self, parts: Parts) -> nn.Module:
        return _Rounds(parts, self)


class _Rounds(nn.Module):
    def __init__(self, parts: Parts, settings: Rounds) -> None:
        super().__init__()
        self.size = len(parts) // settings.rounds
        self.each = nn.ModuleList(settings.reader.network(part) for part in self._cut(parts))

    def forward(self, parts: Parts) -> Tensor:
        return torch.cat([network(part) for network, part in zip(self.each, self._cut(parts), strict=True)], 1)

    def _cut(self, parts: Parts) -> list[Parts]:
        return [parts[place : place + self.size] for place in range(0, len(parts), self.size)]
