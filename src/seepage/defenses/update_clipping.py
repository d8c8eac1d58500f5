"""Clipping: no update is longer than a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class UpdateClipping(Defense):
    r"""Shortens a client's whole update to a norm: :math:`\tilde u = u \min(1, C / \lVert u \rVert)`.

    This is also all that a server sees of noise that it adds itself after averaging (central differential privacy):
    what such noise hides, it hides from others.

    Guarantees:
        None. It hides how long the update was, as far as it was longer; not where it points.

    Args:
        norm: :math:`C`, in units of the update.

    Example:
        >>> UpdateClipping(norm=1.0).protect({"w": torch.tensor([[3.0, 4.0]])}, torch.Generator())["w"].tolist()
        [[0.6000000238418579, 0.800000011920929]]

    References:
        McMahan et al., Learning Differentially Private Recurrent Language Models, ICLR 2018, for its use.
    """

    norm: float = 1.0

    def __post_init__(self) -> None:
        check_norm(self.norm)

    def channel(self) -> Channel:
        """A known norm."""
        return Channel(clip=self.norm)

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update, no longer than the norm."""
        return shortened(update, self.norm)


def check_norm(norm: float) -> None:
    """A norm to which something is shortened."""
    if not 0 < norm < math.inf:
        raise InputError(f"The clipping norm is {norm}; it must be above 0.")


def shortened(update: Parameters, norm: float, order: int = 2) -> Parameters:
    """Every client's whole update with no larger norm of this order than that."""
    flat = torch.cat([value.flatten(1) for value in update.values()], dim=1)  # (clients, entries)
    factors = (norm / flat.norm(p=order, dim=1).clamp(min=1e-30)).clamp(max=1.0)
    return {name: value * factors.view(-1, *[1] * (value.dim() - 1)) for name, value in update.items()}
