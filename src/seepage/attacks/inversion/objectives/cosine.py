"""1 - cosine similarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Cosine:
    r"""The angle between the updates, whatever their length: :math:`1 - \langle u, \hat u\rangle / |u||\hat u|`.

    References:
        Geiping et al., Inverting Gradients, NeurIPS 2020.
    """

    def bind(self, sizes: tuple[int, ...]) -> Callable[[Tensor, Tensor], Tensor]:
        return cosine_distance


def cosine_distance(simulated: Tensor, observed: Tensor) -> Tensor:
    # Reduced in double precision, as in document 002: near the end 1 - cosine is close to float32's resolution.
    dot = (simulated * observed).sum(dtype=torch.float64)
    ours = (simulated * simulated).sum(dtype=torch.float64)
    theirs = (observed * observed).sum(dtype=torch.float64)
    return 1 - dot * torch.rsqrt(ours * theirs + 1e-60)
