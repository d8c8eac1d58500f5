"""How far a simulated update is from the observed one."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.objectives.cosine import Cosine
from seepage.attacks.inversion.objectives.gaussian_kernel import GaussianKernel
from seepage.attacks.inversion.objectives.received import Received
from seepage.attacks.inversion.objectives.squared import Squared
from seepage.attacks.inversion.objectives.weighted import Weighted


class Objective(Protocol):
    r"""A distance of updates, from two numbers per layer l. The observed update :math:`u` is divided by its length.

    Args of the call, with the layers on the last axis:
        dots: :math:`\langle \hat u_l, u_l / |u| \rangle`.
        squares: :math:`|\hat u_l|^2`.
        own: :math:`|u_l|^2 / |u|^2`.
        length: :math:`|u|`.
    """

    @property
    def layers(self) -> bool:
        """Whether the layers are told apart; if not, their sums come as one layer."""
        ...

    def __call__(self, dots: Tensor, squares: Tensor, own: Tensor, length: Tensor) -> Tensor: ...


__all__ = ["Cosine", "GaussianKernel", "Objective", "Received", "Squared", "Weighted"]
