"""A batch that looks like the population."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.attacks.inversion.priors.scene import PriorScene


@dataclass(frozen=True, kw_only=True)
class Marginals:
    r"""Standardised inputs have mean 0 and variance 1 over the population; a batch should not be far from it.

    .. math:: \frac{w}{d} \sum_j \bar x_j^2 + (s_j^2 - 1)^2

    over the numbers, and :math:`\bar x_j^2` over one-hot entries where those are standardised too. An adversary who
    knows no statistics knows this much, because the clients standardise.

    Args:
        weight: :math:`w`.
    """

    weight: float = 0.01

    def check(self, restarts: int) -> None:
        """Nothing is needed."""

    def lacks(self, scene: PriorScene) -> str:
        return ""

    def __call__(self, inputs: Tensor, parameters: dict[str, Tensor], scene: PriorScene) -> Tensor:
        numeric = scene.space.layout.numeric
        known = inputs if scene.space.standardised else inputs[..., :numeric]
        means = known.mean(2)
        numbers = inputs[..., :numeric]
        spread = numbers.square().mean(2) - numbers.mean(2).square()
        columns = max(known.shape[-1], 1)
        penalty = means.square().sum(-1) / columns
        if inputs.shape[2] > 1:
            penalty = penalty + (spread - 1).square().sum(-1) / columns
        return self.weight * penalty
