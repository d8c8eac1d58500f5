"""1 - cosine similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.objectives.sums import product_sum


@dataclass(frozen=True, kw_only=True)
class Cosine:
    r"""The angle between the updates, whatever their length: :math:`1 - \langle u, \hat u\rangle / |u||\hat u|`.

    References:
        Geiping et al., Inverting Gradients, NeurIPS 2020.
    """

    layers = False

    def __call__(self, simulated: Sequence[Tensor], direction: Sequence[Tensor], length: Tensor) -> Tensor:
        dot = torch.stack([product_sum(a, b) for a, b in zip(simulated, direction, strict=True)]).sum()
        square = torch.stack([product_sum(a, a) for a in simulated]).sum()
        return 1 - dot * torch.rsqrt(square + 1e-60)
