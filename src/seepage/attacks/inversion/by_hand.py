"""The slope of gradient matching for nets whose four passes are written out: less work, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.func import grad, vmap

from seepage.attacks.inversion.priors import PriorScene
from seepage.models import Learner, Parameters, as_layers, passes_of, pullback


class Matching(Protocol):
    """What of a problem is needed here."""

    @property
    def scene(self) -> PriorScene: ...

    @property
    def opener(self) -> Callable[[Tensor], tuple[Tensor, Tensor | None]]: ...

    def matched_along(
        self, factors: Any, dense: Parameters, observed: Parameters, own: Tensor, length: Tensor
    ) -> tuple[Tensor, Any, Parameters, Tensor]: ...

    def penalty(self, inputs: Tensor, parameters: Parameters) -> Tensor: ...


class ByHand:
    """One gradient of a net whose passes are written out: see ``models/four_passes.py``."""

    def __init__(self, problem: Matching) -> None:
        self._problem = problem

    def __call__(
        self, x: Tensor, parameters: Parameters, observed: Parameters, own: Tensor, length: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        problem, shape = self._problem, x.shape[:3]
        learner: Any = problem.scene.learner

        def opened(x: Tensor) -> Any:
            inputs, own_labels = problem.opener(x)
            penalty = problem.penalty(inputs, parameters)
            return (inputs, penalty) if own_labels is None else (inputs, penalty, own_labels)

        (inputs, penalty, *variable), close = pullback(opened, x)
        network = passes_of(learner, parameters, *shape[1:])
        outputs = torch.unflatten(network.forward(inputs.flatten(1, 2)), 1, shape[1:])
        aims = variable[0] if variable else labels[:, None].expand(*shape[:2], *labels.shape[1:])
        slopes, curve = _loss_slopes(learner, outputs, aims, variable=bool(variable))
        pairs = network.backward(slopes.flatten(1, 2))
        losses, pairs.by_factors, pairs.by_dense, along = problem.matched_along(
            pairs.factors, pairs.dense, as_layers(learner, observed), own, length
        )
        by_outputs, *by_labels = curve(torch.unflatten(network.tangent(), 1, shape[1:]))
        by_inputs = torch.unflatten(network.adjoint(by_outputs.flatten(1, 2)), 1, shape[1:]) * along
        by_labels = [each * along.flatten(2).view(*shape[:2], *[1] * (each.dim() - 2)) for each in by_labels]
        return losses + penalty, close((by_inputs, torch.ones_like(penalty), *by_labels))[0]


def _loss_slopes(learner: Learner, outputs: Tensor, aims: Tensor, *, variable: bool) -> tuple[Tensor, Any]:
    """The loss's slopes by the outputs (obs, runs, rows, outputs), and the way back through them."""
    slope = vmap(vmap(grad(learner.loss_of_outputs)))
    if variable:
        return pullback(slope, outputs, aims)
    return pullback(lambda outputs: slope(outputs, aims), outputs)
