"""Deep Sets and paths side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from seepage.attacks.properties.readers.deepsets import DeepSets
from seepage.attacks.properties.readers.paths import Paths
from seepage.attacks.properties.readers.reader import Parts
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Sets and paths side by side: they see different things, and together tell more than either.

    References:
        Seepage (``docs/explanation/property-inference.md``).

    Example:
        >>> Joined().sets.representation
        8
    """

    sets: DeepSets = field(default_factory=DeepSets)
    paths: Paths = field(default_factory=Paths)

    def parts(self, stack: Stack) -> Parts:
        return (*self.sets.parts(stack), *self.paths.parts(stack))

    def network(self, parts: Parts) -> nn.Module:
        return _Both(self.sets.network(parts[:-1]), self.paths.network(parts[-1:]))


class _Both(nn.Module):
    def __init__(self, sets: nn.Module, paths: nn.Module) -> None:
        super().__init__()
        self.sets, self.paths = sets, paths

    def forward(self, parts: Parts) -> Tensor:
        return torch.cat([self.sets(parts[:-1]), self.paths(parts[-1:])], 1)
