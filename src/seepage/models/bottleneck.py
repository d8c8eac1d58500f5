"""A variational bottleneck: what passes it is drawn at random."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Bottleneck(nn.Module):
    r"""Rows :math:`h` go on as :math:`V (\mu(h) + \sigma(h) \varepsilon)` with :math:`\varepsilon` drawn anew.

    In training mode it draws from torch's generator, and keeps how far its distribution is from a standard normal one
    for :func:`divergence`. Elsewhere the mean goes on, as it does where a trained model is used.

    Args:
        width: of what it takes in and hands on.
        size: of what is drawn.
    """

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.mean = nn.Linear(width, size)
        self.spread = nn.Linear(width, size)  # the logarithm of the variance
        self.back = nn.Linear(size, width)
        self.seen: Tensor | None = None

    def forward(self, rows: Tensor) -> Tensor:
        mean = self.mean(rows)
        if self.training:
            spread = self.spread(rows)
            self.seen = (mean.square() + spread.exp() - spread - 1).sum(-1).mean() / 2
            mean = mean + (spread / 2).exp() * torch.randn_like(mean)
        passed: Tensor = self.back(mean)
        return passed

    def __getstate__(self) -> dict[str, Any]:
        # What was seen inside of `torch.func` cannot be copied, and belongs to the call alone.
        return self.__dict__ | {"seen": None}


def divergence(module: nn.Module) -> Tensor:
    """The mean divergence that a module's bottlenecks kept in the last pass; it is handed out once."""
    total: Tensor | None = None
    for layer in module.modules():
        if isinstance(layer, Bottleneck) and layer.seen is not None:
            total, layer.seen = layer.seen if total is None else total + layer.seen, None
    return torch.zeros(()) if total is None else total
