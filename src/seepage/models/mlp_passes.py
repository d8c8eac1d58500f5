"""A multi-layer perceptron in the four passes of gradient matching."""

from __future__ import annotations

import itertools
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.fx import Node, symbolic_trace
from torch.nn import functional

from seepage.models.four_passes import Layer, Linear, Norm, Pairs, ReLU, passed
from seepage.models.functional import Learner, Parameters

_HALF = 2**-0.5


def is_perceptron(learner: Learner) -> bool:
    """Whether the model is a stack of linear layers, ReLU or GELU, with or without layer normalisation."""
    chain = chain_of(learner.module)
    return bool(chain) and isinstance(chain[0][1], nn.Linear) and all(map(_is_known, (layer for _, layer in chain)))


def _is_known(layer: nn.Module) -> bool:
    if type(layer) is nn.Linear:
        return layer.bias is not None
    if type(layer) is nn.LayerNorm:
        return layer.elementwise_affine and layer.bias is not None and len(layer.normalized_shape) == 1
    return type(layer) is nn.ReLU or (type(layer) is nn.GELU and layer.approximate == "none")


@lru_cache(maxsize=64)
def chain_of(module: nn.Module) -> tuple[tuple[str, nn.Module], ...]:
    """The layers that rows pass one after the other, with their names; empty if the module is no such chain.

    A class of somebody else is followed by ``torch.fx``, which sees what its forward pass does and not how it is
    written.
    """
    if type(module) is nn.Sequential:
        return tuple((name, layer) for name, layer in module.named_children() if type(layer) is not nn.Identity)
    if not isinstance(module, nn.Module) or sum(1 for _ in module.modules()) > DEEP:
        return ()
    try:
        nodes = list(symbolic_trace(module).graph.nodes)
    except Exception:  # noqa: BLE001  # somebody else's code
        return ()
    chain: list[tuple[str, nn.Module]] = []
    for before, node in itertools.pairwise(nodes):
        if node.all_input_nodes != [before] or (node.op == "output" and node.args != (before,)):
            return ()
        layer = _layer_of(module, node)
        if node.op != "output" and layer is None:
            return ()
        if layer is not None and type(layer) is not nn.Identity:
            chain.append((str(node.target) if node.op == "call_module" else node.name, layer))
    names = [name for name, layer in chain if any(True for _ in layer.parameters())]
    owned = {name for name, _ in module.named_parameters()}
    used = {f"{name}.{each}" for name in names for each, _ in module.get_submodule(name).named_parameters()}
    return tuple(chain) if len(set(names)) == len(names) and used == owned else ()


DEEP = 100  # modules in a module: one with more is no perceptron


def _layer_of(module: nn.Module, node: Node) -> nn.Module | None:
    """The layer that a step of a forward pass is, if it is one of those that are known."""
    if node.op == "call_module":
        return module.get_submodule(str(node.target))
    alone = len(node.args) == 1 and not any(node.kwargs.values())
    if alone and (node.target in (torch.relu, functional.relu) or (node.op, node.target) == ("call_method", "relu")):
        return nn.ReLU()
    if alone and node.target is functional.gelu:
        return nn.GELU()
    return None


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

    def __init__(self, module: nn.Module, parameters: Parameters, runs: int) -> None:
        self.pairs = Pairs(runs)
        chain = chain_of(module)
        self._layers = [
            self._layer(name, layer, parameters, first=place == 0) for place, (name, layer) in enumerate(chain)
        ]

    def _layer(self, name: str, layer: nn.Module, parameters: Parameters, *, first: bool) -> Layer:
        if isinstance(layer, nn.ReLU):
            return ReLU()
        if isinstance(layer, nn.GELU):
            return GELU()
        kind = Norm if isinstance(layer, nn.LayerNorm) else Entrance if first else Linear
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
