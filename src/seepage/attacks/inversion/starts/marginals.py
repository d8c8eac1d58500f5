"""Rows that could be real."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.attacks.inversion.categories import Categories, Softmax
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class FromMarginals:
    """Numbers from the population's normal marginals; logits at the categories' log shares, plus noise.

    Shares are known with the statistics of clients that standardise their one-hot entries: an entry's shift is its
    share. Where they are not known, all categories are equally likely.

    Args:
        noise: deviation of the noise on the logits.
    """

    noise: float = 1.0

    def check(self, categories: Categories) -> None:
        if not isinstance(categories, Softmax):
            raise InputError("A start from marginals sets logits; it needs softmax categories, not free ones.")

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor:
        space = observation.space
        x = torch.randn(shape, generator=generator)
        blocks = slice(space.layout.numeric, None)
        x[..., blocks] *= self.noise
        if space.standardised and space.shift is not None:
            x[..., blocks] += space.shift[blocks].clamp(min=1e-3).log()
        return x
