"""Rows that fit the statistics inside the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from seepage.attacks.inversion.priors.scene import PriorScene
from seepage.models import over_runs


@dataclass(frozen=True, kw_only=True)
class BatchStatistics:
    r"""At every BatchNorm layer the batch's mean and variance should be the stored ones:

    .. math:: w \sum_l \tfrac{1}{d_l} \left(|\mu_l(x) - \mu_l|^2 + |\sigma_l^2(x) - \sigma_l^2|^2\right)

    Clients here never update the stored statistics (the profiling study, section 3.5), so this prior is weaker than
    in its paper, where the private batch's own statistics are shared.

    Args:
        weight: :math:`w`.

    References:
        Yin et al., See Through Gradients (GradInversion), CVPR 2021.
    """

    weight: float = 0.001

    def check(self, restarts: int) -> None:
        """Nothing is needed."""

    def lacks(self, scene: PriorScene) -> str:
        if _layers(scene.learner.module):
            return ""
        return "The prior needs BatchNorm layers, and the model has none (resnet has, mlp with norm=batch too)."

    def __call__(self, inputs: Tensor, parameters: dict[str, Tensor], scene: PriorScene) -> Tensor:
        def one(inputs: Tensor, parameters: dict[str, Tensor], _: Tensor) -> Tensor:
            return self.weight * _distance(scene, inputs, parameters)

        labels = inputs.new_zeros(inputs.shape[0], inputs.shape[2])
        result: Tensor = over_runs(one, inputs, parameters, labels, learner=scene.learner, shared=scene.shared)
        return result


def _layers(module: nn.Module) -> dict[str, Any]:
    return {name: layer for name, layer in module.named_modules() if isinstance(layer, nn.BatchNorm1d)}


def _distance(scene: PriorScene, inputs: Tensor, parameters: dict[str, Tensor]) -> Tensor:
    terms: list[Tensor] = []

    def hook(layer: Any, arriving: tuple[Tensor], _: Tensor) -> None:
        rows = arriving[0]
        mean = rows.mean(0)
        variance = (rows - mean).square().mean(0)
        terms.append((mean - layer.running_mean).square().mean() + (variance - layer.running_var).square().mean())

    handles = [layer.register_forward_hook(hook) for layer in _layers(scene.learner.module).values()]
    try:
        scene.learner.outputs(parameters, inputs)
    finally:
        for handle in handles:
            handle.remove()
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
