"""BatchNorm in training mode: the batch's own statistics, in plain operations, and what they were.

torch's layer writes its running statistics in place, which many clients at once cannot do. Here the layer remembers
what it saw, and whoever trains moves the running statistics by it.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from seepage._core import InputError


class BatchStatistics(_BatchNorm):
    """A BatchNorm layer that always uses the batch's own mean and variance. It is made from another by its class."""

    seen: tuple[Tensor, Tensor]

    def forward(self, input: Tensor) -> Tensor:
        axes = [axis for axis in range(input.dim()) if axis != 1]
        shape = [1, -1] + [1] * (input.dim() - 2)
        count = input.numel() // input.shape[1]
        mean = input.mean(axes)
        middle = input - mean.view(shape)
        variance = middle.square().mean(axes)
        # The running variance is torch's: that of the batch with one row less in the divisor.
        self.seen = mean, variance * (count / max(count - 1, 1))
        scaled = middle * (variance + self.eps).rsqrt().view(shape)
        return scaled * self.weight.view(shape) + self.bias.view(shape) if self.affine else scaled

    def __getstate__(self) -> dict[str, Any]:
        # What was seen inside of `torch.func` cannot be copied, and belongs to the call alone.
        return {name: value for name, value in self.__dict__.items() if name != "seen"}


def normalised_layers(module: nn.Module) -> dict[str, _BatchNorm]:
    """The BatchNorm layers of a model, by name."""
    return {name: layer for name, layer in module.named_modules() if isinstance(layer, _BatchNorm)}


def with_batch_statistics(module: nn.Module) -> nn.Module:
    """The same module, changed: its BatchNorm layers use the batch's statistics from now on."""
    layers = normalised_layers(module)
    if not layers:
        raise InputError(
            "BatchNorm in training mode needs a model with BatchNorm layers; this one has none (resnet has, mlp with "
            "norm=batch too)."
        )
    for name, layer in layers.items():
        if layer.momentum is None or not layer.track_running_stats:
            raise InputError(
                f"The BatchNorm layer {name!r} keeps no running statistics with a momentum, which training mode needs."
            )
        layer.__class__ = BatchStatistics
    return module


def with_stored_statistics(module: nn.Module) -> nn.Module:
    """The same module, changed back: its BatchNorm layers use the running statistics."""
    for layer in module.modules():
        if isinstance(layer, BatchStatistics):
            layer.__class__ = nn.BatchNorm1d  # type: ignore[assignment]
    return module


def momenta(module: nn.Module) -> dict[str, float]:
    """By how much a batch moves each running statistic, by the statistic's name."""
    return {
        f"{name}.{kind}": float(layer.momentum or 0.0)
        for name, layer in normalised_layers(module).items()
        for kind in ("running_mean", "running_var")
    }


def seen_statistics(module: nn.Module) -> dict[str, Tensor]:
    """What each BatchNorm layer saw in the last call, by the name of the running statistic."""
    found = {}
    for name, layer in normalised_layers(module).items():
        assert isinstance(layer, BatchStatistics)
        found[f"{name}.running_mean"], found[f"{name}.running_var"] = layer.seen
        del layer.seen  # it may belong to a computation that is over
    return found
