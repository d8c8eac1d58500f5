"""How sure each entry of an update is, by what is known of the way it took."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.models import Parameters
from seepage.observation import Channel

FLOOR = 1e-3  # of the update's root mean square: below that it is the model's own rounding that is fitted


def precision_of(channel: Channel, sent: Parameters, scale: float, rows: int) -> Parameters:
    """1 / variance of every entry's error: (observations, ...) for each tensor.

    Errors of rounding count as noise of the same variance. NOTE[DIFF] an entry that was left out because it was small
    lies evenly between the least that was sent and its opposite; here it is normal with that variance.

    Args:
        channel: what is known.
        sent: updates as gradients, (observations, ...) for each tensor.
        scale: by what the updates were multiplied to be gradients.
        rows: behind a gradient.
    """
    rounded = channel.step * scale * (2 if channel.dithered else 1)
    variance = (channel.noise * scale) ** 2 + (channel.row_noise / rows) ** 2 + rounded**2 / 12
    whole = torch.cat([each.flatten(1) for each in sent.values()], 1)
    kept = (whole != 0).sum(1).clamp(min=1)
    quiet = FLOOR**2 * whole.square().sum(1) / kept + variance  # (observations,)
    least = least_of(whole)
    found = {}
    for name, each in sent.items():
        flat = each.flatten(1)
        spread = quiet[:, None].expand_as(flat)
        if channel.levels:
            spread = spread + (flat.abs().amax(1, keepdim=True) / channel.levels) ** 2 / 12
        if channel.signs:  # how large an entry is is hardly known; twice the mean magnitude read most in a trial
            spread = spread + 4 * flat.abs().mean(1, keepdim=True) ** 2
        if channel.missing.startswith("smallest"):
            bound = least if channel.missing == "smallest" else least_of(flat)
            spread = torch.where(flat == 0, spread + (bound**2 / 3)[:, None], spread)
        precision = spread.reciprocal()
        precision = precision.masked_fill(flat == 0, 0.0) if channel.missing == "zeros" else precision
        found[name] = precision.view_as(each)
    return found


def least_of(sent: Tensor) -> Tensor:
    """(observations,) the smallest magnitude that was sent of (observations, entries); 0 where nothing was."""
    least = torch.where(sent != 0, sent.abs(), torch.inf).amin(1)
    return torch.where(least.isfinite(), least, 0.0)
