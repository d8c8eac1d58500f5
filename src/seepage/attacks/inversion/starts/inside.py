"""Numbers that start inside their range, for variables that a sigmoid maps into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from seepage.attacks.inversion.categories import Categories
from seepage.attacks.inversion.numbers.bounded import encoded_bounds
from seepage.observation import Observation

if TYPE_CHECKING:
    from seepage.attacks.inversion.starts import Start


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Another start whose numbers are encoded values; here they become the sigmoid's arguments.

    Without it, bounded numbers start in the middle of their range. For an amount that is mostly zero and sometimes huge
    that is nowhere near anybody.

    Args:
        start: draws the encoded values and the logits.
        edge: the share of the range, at both ends, that is left out: the sigmoid is flat there.
    """

    start: Start
    edge: float = 0.01

    def check(self, categories: Categories) -> None:
        self.start.check(categories)

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor:
        x = self.start(shape, observation, generator)
        low, high = encoded_bounds(observation.space)
        numbers = x[..., : observation.layout.numeric]
        share = ((numbers - low) / (high - low).clamp(min=1e-12)).clamp(self.edge, 1 - self.edge)
        numbers.copy_(share.logit())
        return x
