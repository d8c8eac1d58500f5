"""Differential privacy of whole clients: every update is clipped and covered by noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seepage._core import InputError
from seepage.defenses.defense import Defense, Privacy
from seepage.defenses.gaussian_noise import GaussianNoise
from seepage.defenses.private_messages import gaussian_epsilon
from seepage.defenses.update_clipping import check_norm, shortened
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class DPFedAvg(Defense):
    r"""Each client shortens its whole update to a norm and adds noise before it sends it.

    .. math:: \tilde u = u \min(1, C / \lVert u \rVert) + \mathcal N(0, (\sigma C)^2 I)

    NOTE[DIFF] McMahan et al. let the server add the noise, once for all clients. A server that does is trusted with
    what clients send, which is what is audited here: towards it that is ``update_clipping``.

    Guarantees:
        :math:`(\varepsilon, \delta)`-differential privacy of *all* rows of a client together, towards a server that
        sees all its updates: two updates of norm at most :math:`C` differ by at most :math:`2C`, so that T updates cost
        what one costs with a multiplier of :math:`\sigma / (2 \sqrt T)`. T counts local steps, which are at least as
        many as updates, so that the stated epsilon may be larger than the true one and is never smaller.

    Args:
        clip: C, in units of the update.
        noise: sigma, times the clip; 0 clips only and promises nothing.
        delta: of the stated guarantee.

    Example:
        >>> round(DPFedAvg(noise=8.0).privacy(sampling_rate=1.0, steps=1).epsilon, 1)
        0.9

    References:
        McMahan et al., Learning Differentially Private Recurrent Language Models, ICLR 2018; Balle and Wang, Improving
        the Gaussian Mechanism, ICML 2018, for epsilon.
    """

    clip: float = 1.0
    noise: float = 0.1
    delta: float = 1e-5

    def __post_init__(self) -> None:
        check_norm(self.clip)
        if not 0 <= self.noise < math.inf:
            raise InputError(f"The noise multiplier is {self.noise}; it must be 0 or above.")
        check_delta(self.delta)

    def channel(self) -> Channel:
        """A known norm and noise of a known deviation."""
        return Channel(clip=self.clip, noise=self.noise * self.clip)

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The clipped update with fresh noise for every client."""
        return GaussianNoise(deviation=self.noise * self.clip).protect(shortened(update, self.clip), random)

    def privacy(self, sampling_rate: float, steps: int) -> Privacy:
        """Epsilon of a whole client after these steps."""
        spent = gaussian_epsilon(self.noise / (2 * math.sqrt(max(steps, 1))), self.delta)
        return Privacy(epsilon=spent, delta=self.delta, steps=steps, sampling_rate=sampling_rate)


def check_delta(delta: float) -> None:
    """The delta of a promise."""
    if not 0 < delta < 1:
        raise InputError(f"Delta is {delta}; it must be between 0 and 1.")
