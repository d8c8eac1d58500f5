"""An update of which a defence has left only some entries, or only signs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.models import Parameters


@dataclass(frozen=True, kw_only=True)
class Received:
    r"""The angle between what was sent and the same entries of the simulated update.

    Entries that are zero were not sent and do not count. With ``signs``, an entry's magnitude is not known:

    .. math:: 1 - \cos(\hat u, \Pi \hat u)

    with :math:`\Pi \hat u` the entries of :math:`\hat u` whose signs are the observed ones.

    Args:
        signs: whether only signs were sent.

    Example:
        >>> Received(signs=True).layers
        True
    """

    signs: bool = False

    layers = True

    def __call__(self, simulated: Parameters, observed: Parameters) -> Tensor:
        """Losses (observations, runs) of updates (observations, runs, ...) against (observations, ...)."""
        dots, ours, theirs = [], [], []
        for name, target in observed.items():
            sent = target.flatten(1)[:, None]
            value = simulated[name].flatten(2) * (sent != 0)
            near = torch.where(value * sent > 0, value, 0.0) if self.signs else sent.expand_as(value)
            dots.append(_sum(value * near))
            ours.append(_sum(value.square()))
            theirs.append(_sum(near.square()))
        dot, own, other = (torch.stack(each).sum(0) for each in (dots, ours, theirs))
        return 1 - dot * (own * other + 1e-60).rsqrt()


def _sum(values: Tensor) -> Tensor:
    """Over the last axis, in float64: near the end 1 - cosine is close to float32's resolution."""
    return values.sum(-1, dtype=torch.float64)
