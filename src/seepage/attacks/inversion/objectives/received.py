"""An update that came through a defence whose settings are known."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.models import Parameters
from seepage.observation import Channel

Bounds = tuple[Parameters, Parameters, Parameters]  # lowest and highest value of every entry, and whether it counts


@dataclass(frozen=True, kw_only=True)
class Received:
    r"""The angle between the simulated update and the nearest one that would have been sent as the observed one.

    .. math:: 1 - \cos(\hat u, \Pi \hat u), \qquad \Pi \hat u = \min(\max(\hat u, a), b)

    An entry that was rounded may lie anywhere in :math:`[a, b]`, one of which only the sign was sent on one side of
    zero, one that was too small to be sent below the least that was. Entries that were left out for no reason do not
    count. An update that was shortened is compared with simulated ones that are shortened too.

    Args:
        channel: what is known of the defence.

    Example:
        >>> Received(channel=Channel(step=0.1)).entrywise
        True
    """

    channel: Channel

    layers = True
    entrywise = True

    def __call__(self, simulated: Parameters, observed: Parameters, length: Tensor) -> Tensor:
        """Losses (observations, runs) of updates (observations, runs, ...); ``observed`` is divided by its length."""
        low, high, counts = self.bounds(observed, length)
        names = list(observed)
        flat = {name: simulated[name].flatten(2) for name in names}
        if self.channel.clip:
            whole = torch.stack([_sum(flat[name].square()) for name in names]).sum(0)
            factor = (self.channel.clip * (whole + 1e-60).rsqrt()).clamp(max=1.0)[..., None].float()
            flat = {name: value * factor for name, value in flat.items()}
        dots, ours, theirs = [], [], []
        for name in names:
            value = flat[name] * counts[name]
            near = torch.minimum(torch.maximum(value, low[name]), high[name]) * counts[name]
            dots.append(_sum(value * near))
            ours.append(_sum(value.square()))
            theirs.append(_sum(near.square()))
        dot, own, other = (torch.stack(each).sum(0) for each in (dots, ours, theirs))
        return 1 - dot * (own * other + 1e-60).rsqrt()

    def bounds(self, observed: Parameters, length: Tensor) -> Bounds:
        """What each entry may have been, (observations, 1, entries) each."""
        channel = self.channel
        sent = {name: value.flatten(1)[:, None] * length.float() for name, value in observed.items()}
        everything = torch.cat(list(sent.values()), -1)
        least = torch.where(everything != 0, everything.abs(), torch.inf).amin(-1, keepdim=True)
        low, high, counts = {}, {}, {}
        for name, value in sent.items():
            half = value.abs().amax(-1, keepdim=True) / channel.levels / 2 if channel.levels else channel.step / 2
            half = half * 2 if channel.dithered else half
            low[name], high[name] = value - half, value + half
            if channel.signs:
                low[name] = torch.where(value > 0, 0.0, -torch.inf).expand_as(value)
                high[name] = torch.where(value < 0, 0.0, torch.inf).expand_as(value)
            silent = value == 0
            if channel.missing == "smallest":
                low[name] = torch.where(silent, -least, low[name])
                high[name] = torch.where(silent, least, high[name])
            counts[name] = (~silent if channel.missing == "zeros" else torch.ones_like(silent)).to(value.dtype)
        return low, high, counts


def _sum(values: Tensor) -> Tensor:
    """Over the last axis, in float64: near the end 1 - cosine is close to float32's resolution."""
    return values.sum(-1, dtype=torch.float64)
