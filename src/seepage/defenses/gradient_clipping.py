"""Gradients of single rows, none longer than a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.observation.parties import GRADIENT


@dataclass(frozen=True, kw_only=True)
class GradientClipping(Defense):
    """The host shortens the gradient of every row to a norm before it sends it while fine-tuning.

    Guarantees:
        None. It hides how long gradients were, as far as they were longer; not where they point.

    Args:
        norm: of the gradient of a row's own loss. A batch's mean loss divides it by the rows of the batch.

    References:
        The defence is half of DP-SGD (Abadi et al., CCS 2016).

    Example:
        >>> long = torch.tensor([[30.0, 40.0]])
        >>> GradientClipping(norm=5.0).in_message(GRADIENT, long, torch.Generator()).round()
        tensor([[3., 4.]])
    """

    norm: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.norm < math.inf:
            raise InputError(f"The clipping norm is {self.norm}; it must be above 0.")

    def in_message(self, kind: str, values: Tensor, random: torch.Generator) -> Tensor:
        """Gradients, shortened."""
        return clipped(values, self.norm / len(values)) if kind == GRADIENT else values


def clipped(values: Tensor, norm: float) -> Tensor:
    """(rows, width) with no row longer than this."""
    lengths = values.norm(dim=1, keepdim=True)
    shortened: Tensor = values * (norm / lengths.clamp(min=1e-30)).clamp(max=1.0)
    return shortened
