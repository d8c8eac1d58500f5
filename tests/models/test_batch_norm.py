"""BatchNorm layers that remember what they saw."""

from __future__ import annotations

import copy

import torch
from torch import nn

from seepage.models.batch_norm import seen_statistics, with_batch_statistics


def test_a_layer_that_was_called_inside_of_torch_func_can_be_copied() -> None:
    """FINDINGS: an audit in training mode failed, since what the layer saw there cannot be copied."""
    net = with_batch_statistics(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)))
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    torch.func.grad(lambda rows: net(rows).square().sum())(x)
    other = copy.deepcopy(net)
    assert torch.equal(net(x), other(x))
    assert seen_statistics(other).keys() == {"1.running_mean", "1.running_var"}
