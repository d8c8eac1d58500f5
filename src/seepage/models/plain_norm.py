"""Layer normalisation that may be differentiated twice under vmap.

``torch.func`` differentiates a vectorised gradient of ``nn.LayerNorm`` wrongly: the gradient of its weight goes through
a saved mean and deviation that count as constants. The slope of a matching attack is off by 0.1 to 1 % so, more with
every such layer. Written in plain operations it is right.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor, nn

from seepage.models.functional import Learner


class PlainLayerNorm(nn.LayerNorm):
    """The same layer in plain operations."""

    def forward(self, input: Tensor) -> Tensor:
        axes = tuple(range(-len(self.normalized_shape), 0))
        middle = input - input.mean(axes, keepdim=True)
        scaled = middle * torch.rsqrt(middle.square().mean(axes, keepdim=True) + self.eps)
        scaled = scaled if self.weight is None else scaled * self.weight
        return scaled if self.bias is None else scaled + self.bias


@lru_cache(maxsize=32)
def twice_differentiable(learner: Learner) -> Learner:
    """The same learner, for an attacker who differentiates its gradients."""
    if not any(type(layer) is nn.LayerNorm for layer in learner.module.modules()):
        return learner
    module = copy.deepcopy(learner.module)
    for layer in module.modules():
        if type(layer) is nn.LayerNorm:
            layer.__class__ = PlainLayerNorm
    return replace(learner, module=module)
