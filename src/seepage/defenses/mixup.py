"""Mixup: a client trains on mixtures of its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.computing import check_rows_apart, client_gradients
from seepage.defenses.defense import Defense, Gradients
from seepage.models import Learner, Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class Mixup(Defense):
    r"""Each batch is replaced by mixtures of its rows with others of it, in the same share for the whole batch.

    .. math:: \tilde x_i = \lambda x_i + (1 - \lambda) x_{\pi(i)}, \qquad
              \lambda\, \ell(\tilde x_i, y_i) + (1 - \lambda)\, \ell(\tilde x_i, y_{\pi(i)}), \qquad
              \lambda \sim \mathrm{Beta}(\alpha, \alpha)

    Guarantees:
        None. With :math:`\lambda` near 0 or 1, which a small :math:`\alpha` makes likely, mixtures are nearly rows.

    Args:
        alpha: of the beta distribution; 1 is even.

    Example:
        >>> Mixup(alpha=0.4).alpha
        0.4

    References:
        Zhang et al., mixup: Beyond Empirical Risk Minimization, ICLR 2018.
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < math.inf:
            raise InputError(f"The alpha of mixup is {self.alpha}; it must be above 0.")

    def channel(self) -> Channel:
        """Rows are mixtures."""
        return Channel(mixed=True)

    def gradients(self, learner: Learner) -> Gradients:
        """The gradient of mixtures."""
        check_rows_apart(learner, "Mixup")

        def loss(parameters: Parameters, x: Tensor, y: Tensor, others: Tensor, share: Tensor) -> Tensor:
            outputs = learner.outputs(parameters, x, noisy=learner.has_noise)
            return share * learner.loss_of_outputs(outputs, y) + (1 - share) * learner.loss_of_outputs(outputs, others)

        slopes = client_gradients(learner, loss)

        def mixed(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
            clients, rows = x.shape[:2]
            seed = int(torch.randint(2**62, (1,), generator=random))  # torch's own beta numbers take no generator
            drawn = np.random.default_rng(seed).beta(self.alpha, self.alpha, clients)
            share = torch.from_numpy(drawn).to(x.dtype)
            order = torch.rand((clients, rows), generator=random).argsort(1)
            whole = torch.arange(clients)[:, None]
            weight = share[:, None, None]
            return slopes(parameters, weight * x + (1 - weight) * x[whole, order], y, y[whole, order], share)

        return mixed
