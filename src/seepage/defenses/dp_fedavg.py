"""Differential privacy of whole clients: every update is clipped and covered by noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seepage._core import InputError, unknown_name
from seepage.defenses.defense import Defense, Privacy
from seepage.defenses.gaussian_noise import GaussianNoise
from seepage.defenses.private_messages import gaussian_epsilon
from seepage.defenses.update_clipping import check_norm, shortened
from seepage.models import Parameters
from seepage.observation import Channel
from seepage.results.facts import ThreatModel

SIDES = ("client", "server")


@dataclass(frozen=True, kw_only=True)
class DPFedAvg(Defense):
    r"""Each client shortens its whole update to a norm; noise covers it before it is sent, or only in the server.

    ``side="client"`` sends

    .. math:: \tilde u = u \min(1, C / \lVert u \rVert) + \mathcal N(0, (\sigma C)^2 I).

    ``side="server"`` is McMahan et al.'s: clients send the shortened update as it is, and the server adds noise of
    deviation :math:`\sigma C / n` to the mean of n of them. The next model pays for the noise; what the server was sent
    has none of it.

    NOTE[DIFF] McMahan et al. draw the clients of a round at random and bound the weights of their mean. Here the noise
    on the mean has that deviation for clients of equal weight.

    Guarantees:
        ``side="server"``: none towards the server, which sees every update before the noise; towards it this is
        ``update_clipping``. What the noise hides, it hides from whoever sees only the models that are sent out, who is
        not audited here.

        ``side="client"``: :math:`(\varepsilon, \delta)`-differential privacy of *all* rows of a client together,
        towards a server that sees all its updates: two updates of norm at most :math:`C` differ by at most :math:`2C`,
        so that T updates cost what one costs with a multiplier of :math:`\sigma / (2 \sqrt T)`. T counts local steps,
        which are at least as many as updates, so that the stated epsilon may be larger than the true one and is never
        smaller.

    Args:
        clip: C, in units of the update.
        noise: sigma, times the clip; 0 clips only and promises nothing.
        delta: of the stated guarantee.
        side: who adds the noise, ``client`` or ``server``.

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
    side: str = "client"

    def __post_init__(self) -> None:
        check_norm(self.clip)
        if not 0 <= self.noise < math.inf:
            raise InputError(f"The noise multiplier is {self.noise}; it must be 0 or above.")
        check_delta(self.delta)
        if self.side not in SIDES:
            raise unknown_name("side", self.side, SIDES)

    @property
    def _in_server(self) -> bool:
        return self.side == "server"

    def channel(self) -> Channel:
        """A known norm, and noise of a known deviation if clients add it."""
        return Channel(clip=self.clip, noise=0.0 if self._in_server else self.noise * self.clip)

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The clipped update, with fresh noise for every client if clients add it."""
        short = shortened(update, self.clip)
        return short if self._in_server else GaussianNoise(deviation=self.noise * self.clip).protect(short, random)

    def averaged(self, update: Parameters, clients: int, random: torch.Generator) -> Parameters:
        """Each update with its part of the server's noise: together they have the deviation of the noise on the sum."""
        if not self._in_server:
            return update
        return GaussianNoise(deviation=self.noise * self.clip / math.sqrt(clients)).protect(update, random)

    def amend(self, threat: ThreatModel) -> ThreatModel:
        """A server that adds the noise itself knows it."""
        if not self._in_server:
            return Defense.amend(self, threat)
        own = "Which defence is used, its settings, and every update before the noise, which it adds itself."
        return threat.model_copy(update={"knows": (*threat.knows, own)})

    def privacy(self, sampling_rate: float, steps: int) -> Privacy:
        """Epsilon of a whole client after these steps, towards the server; infinite if the server adds the noise."""
        if self._in_server:
            return Privacy(epsilon=math.inf, delta=self.delta, steps=steps, sampling_rate=sampling_rate)
        spent = gaussian_epsilon(self.noise / (2 * math.sqrt(max(steps, 1))), self.delta)
        return Privacy(epsilon=spent, delta=self.delta, steps=steps, sampling_rate=sampling_rate)


def check_delta(delta: float) -> None:
    """The delta of a promise."""
    if not 0 < delta < 1:
        raise InputError(f"Delta is {delta}; it must be between 0 and 1.")
