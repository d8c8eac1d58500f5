"""Which nets have their four passes of gradient matching written out."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from seepage.models.four_passes import Pairs
from seepage.models.ft_passes import FTPasses, regrouped
from seepage.models.ft_transformer import BlockFTTransformer
from seepage.models.functional import Learner, Parameters
from seepage.models.mlp_passes import MLPPasses, is_perceptron


class Passes(Protocol):
    """A net in four passes (``four_passes.py``)."""

    def forward(self, x: Tensor) -> Tensor: ...

    def backward(self, g: Tensor) -> Pairs: ...

    def tangent(self) -> Tensor: ...

    def adjoint(self, u: Tensor) -> Tensor: ...


def has_passes(learner: Learner) -> bool:
    """Whether the model is one of these, and its loss can be computed for all runs in one call."""
    plain = learner.vectorised and learner.entry is None
    return plain and (isinstance(learner.module, BlockFTTransformer) or is_perceptron(learner))


def passes_of(learner: Learner, parameters: Parameters, runs: int, rows: int = 1) -> Passes:
    """The net with these parameters, for so many restarts of each observation, and rows of each.

    With several rows a layer may tell its gradient whole, where it tells that of one row in factors.
    """
    module: Any = learner.module
    if isinstance(module, BlockFTTransformer):
        return FTPasses(module, regrouped(module, parameters), runs, rows)
    return MLPPasses(module, parameters, runs)


def as_layers(learner: Learner, update: Parameters) -> Parameters:
    """An update by the layers of the passes."""
    module: Any = learner.module
    return regrouped(module, update) if isinstance(module, BlockFTTransformer) else update
