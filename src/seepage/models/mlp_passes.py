"""A multi-layer perceptron in the four passes of gradient matching."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from seepage.models.four_passes import Layer, Linear, Norm, Pairs, ReLU, passed
from seepage.models.functional import Learner, Parameters

_HALF = 2**-0.5


def is_perceptron(learner: Learner) -> bool:
    """Whether the model is a stack of linear layers, ReLU or GELU, with or without layer normalisation."""
    module = learner.module
    if not isinstance(module, nn.Sequential) or not isinstance(module[0], nn.Linear):
        return False
    known = all(
        isinstance(layer, nn.Linear | nn.ReLU)
        or (isinstance(layer, nn.GELU) and layer.approximate == "none")
        or (isinstance(layer, nn.LayerNorm) and layer.elementwise_affine and len(layer.normalized_shape) == 1)
        for layer in module
    )
    return known and all(layer.bias is not None for layer in module if isinstance(layer, nn.Linear | nn.LayerNorm))


class Entrance(Linear):
    """The first layer. Nobody asks for slopes of the loss by the rows, and rows have no tangent."""

    def backward(self, g: Tensor) -> Tensor:
        self._pairs.factors[self._name] = self._pairs.split(g), self._pairs.split(self._inputs)
        return g

    def tangent(self, t: Tensor) -> Tensor:
        return self._pairs.by_factors[self._name][0].flatten(1, 2)


class GELU:
    r""":math:`h \Phi(h)`, with slope :math:`\Phi + h \varphi` and curve :math:`(2 - h^2) \varphi`."""

    def forward(self, h: Tensor) -> Tensor:
        share = 0.5 * (1 + torch.erf(h * _HALF))
        self._density = torch.exp(-0.5 * h.square()) * (_HALF * torch.pi**-0.5)
        self._slope = torch.addcmul(share, h, self._density)
        self._inputs = h
        return h * share

    def backward(self, g: Tensor) -> Tensor:
        self._given = g
        return g * self._slope

    def tangent(self, t: Tensor) -> Tensor:
        self._tangent = t
        return t * self._slope

    def adjoint(self, u: Tensor) -> Tensor:
        curve = (2 - self._inputs.square()) * self._density
        return torch.addcmul(u * self._slope, self._given * self._tangent, curve)


class MLPPasses:
    """The whole net: rows to outputs, slopes of outputs to its gradient, and both ways again.

    Args:
        module: the net.
        parameters: as the module names them, for one model or with a leading axis of observations.
        runs: restarts of each observation.
    """

    def __init__(self, module: nn.Sequential, parameters: Parameters, runs: int) -> None:
        self.pairs = Pairs(runs)
        self._layers = [self._layer(str(place), layer, parameters) for place, layer in enumerate(module)]

    def _layer(self, name: str, layer: nn.Module, parameters: Parameters) -> Layer:
        if isinstance(layer, nn.ReLU):
            return ReLU()
        if isinstance(layer, nn.GELU):
            return GELU()
        kind = Norm if isinstance(layer, nn.LayerNorm) else Entrance if name == "0" else Linear
        return kind(self.pairs, name, parameters[f"{name}.weight"], parameters[f"{name}.bias"])

    def forward(self, x: Tensor) -> Tensor:
        """(obs, runs x rows, width) to outputs (obs, runs x rows, outputs)."""
        return passed(self._layers, "forward", x)

    def backward(self, g: Tensor) -> Pairs:
        """From the loss's slopes by the outputs to the gradient, in factors and tensors."""
        passed(self._layers[::-1], "backward", g)
        return self.pairs

    def tangent(self) -> Tensor:
        """From slopes by the gradient, which are in the pairs now, to slopes by the loss's slopes."""
        return passed(self._layers, "tangent", torch.empty(0))

    def adjoint(self, u: Tensor) -> Tensor:
        """From slopes by the outputs to slopes by the rows."""
        return passed(self._layers[::-1], "adjoint", u)
