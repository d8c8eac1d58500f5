"""Restarts that agree."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage._core import InputError
from seepage.attacks.inversion.priors.scene import PriorScene


@dataclass(frozen=True, kw_only=True)
class GroupConsistency:
    r"""Every restart is drawn towards the mean of all: :math:`\frac{w}{B d} |x_r - \bar x|^2`.

    NOTE[DIFF] the paper registers images before it averages them. Rows are compared place by place: with known labels
    a place has a label, and the term itself keeps the restarts in one order.

    Args:
        weight: :math:`w`.

    References:
        Yin et al., See Through Gradients (GradInversion), CVPR 2021.
    """

    weight: float = 0.01

    def check(self, restarts: int) -> None:
        if restarts < 2:
            raise InputError("Group consistency compares restarts; there is 1, at least 2 are needed (restarts=).")

    def lacks(self, scene: PriorScene) -> str:
        return ""

    def __call__(self, inputs: Tensor, parameters: dict[str, Tensor], scene: PriorScene) -> Tensor:
        middle = inputs.mean(1, keepdim=True).detach()
        return self.weight * (inputs - middle).square().mean((2, 3))
