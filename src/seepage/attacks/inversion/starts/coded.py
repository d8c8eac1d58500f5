"""One category of each embedded column, as the profiling study's public code begins."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.categories import Categories
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Coded:
    """Normal draws; an embedded category starts at the code that such a draw is cut to.

    A draw below 1 is the first category, one below 2 the second, and so on: five of six columns start at their first
    category. That is where the study's attack on the FT-Transformer begins.

    Args:
        chosen: the variable of the category that is begun with.
        others: the variables of all other categories.
    """

    chosen: float = 5.0
    others: float = -5.0

    def check(self, categories: Categories) -> None:
        """Nothing is needed."""

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor:
        layout = observation.layout
        if not layout.embedded:
            return torch.randn(shape, generator=generator)
        draws = torch.randn((*shape[:-1], layout.numeric + len(layout.sizes)), generator=generator)
        x = torch.full(shape, self.others)
        x[..., : layout.numeric] = draws[..., : layout.numeric]
        for column, block in enumerate(layout.blocks):
            largest = block.stop - block.start - 1
            codes = draws[..., layout.numeric + column].clamp(0, largest).long()
            x[..., block].scatter_(-1, codes[..., None], self.chosen)
        return x
