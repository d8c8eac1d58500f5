"""CAFE's model of images: every worker convolves its part of the picture, then fully connected layers see all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from torch import Tensor, nn
from torch.func import functional_call

from seepage._core import InputError, unknown_name
from seepage.models.functional import Learner, Parameters

SIDE = 28  # of an image
KERNEL, STRIDE = 5, 2

Smoothness = Literal["sigmoid", "softplus", "relu"]
_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "relu": nn.ReLU,
}


@dataclass(frozen=True, kw_only=True)
class QuadrantNet:
    """A convolution per worker, then two fully connected layers.

    A picture of 28 x 28 is cut into 1, 4 or 16 equal tiles, one for each worker. A worker's part is a 5 x 5 convolution
    with stride 2, padding 2 and its own weights, and an activation; of a tile of side s it makes ``channels`` maps of
    side s / 2, rounded up. All maps side by side are the inputs of the first fully connected layer: with 8 channels
    1,568 numbers for 1 and 4 workers, 2,048 for 16.

    NOTE[DIFF] The paper draws its model in Figure 4 and names only the first fully connected layer's 1,024 outputs.
    The authors' code has in each of four workers two convolutions (64 and 128 maps, ReLU, max pooling) and three
    fully connected layers of its own (256, 64, 10), and one layer on top: the 1,024 are four times 256. Here one
    convolution is enough to need step III of the attack, and the first fully connected layer sees all workers, as in
    the paper's algorithms. The activations are smooth, which helps an attack that descends; the authors' are ReLU.
    With ``convolutions=2:activation=relu:channels=64`` the local parts are the authors': 5 x 5, padding 2, each
    followed by max pooling of 2, the second with twice the maps; a tile of 14 becomes 4 x 4 x 128.

    Args:
        workers: 1, 4 or 16.
        width: outputs of the first fully connected layer (d2).
        channels: maps of every worker (of the first convolution).
        convolutions: 1 (with stride 2) or 2 (each with max pooling).
        activation: after the convolution and after the first layer: ``sigmoid``, ``softplus`` or ``relu``.
        binary_outputs: 1 for a logit, 2 for two softmax classes.

    References:
        Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021.

    Example:
        >>> QuadrantNet(workers=16).channels
        8
    """

    workers: int = 4
    width: int = 1024
    channels: int = 8
    activation: Smoothness = "sigmoid"
    convolutions: int = 1
    binary_outputs: int = 1

    encoding: ClassVar[Literal["onehot", "ordinal"]] = "onehot"

    def __post_init__(self) -> None:
        if self.workers not in (1, 4, 16):
            raise InputError(f"There are {self.workers} workers; an image is cut for 1, 4 or 16.")
        if self.width < 1 or self.channels < 1:
            raise InputError(f"Width {self.width} and {self.channels} channels cannot be built; both are at least 1.")
        if self.convolutions not in (1, 2):
            raise InputError(f"There are {self.convolutions} convolutions; a worker has 1 or 2.")
        if self.activation not in _ACTIVATIONS:
            raise unknown_name("activation", self.activation, get_args(Smoothness))

    @property
    def inputs(self) -> int:
        """Inputs of the first fully connected layer (d1)."""
        side = SIDE // math.isqrt(self.workers)
        for _ in range(self.convolutions):
            side = math.ceil(side / STRIDE)
        return self.workers * self.channels * self.convolutions * side**2

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The net for flat images."""
        if numeric != SIDE * SIDE or sizes:
            raise InputError(
                f"Images have {SIDE} x {SIDE} numbers and no categories, not {numeric} and {len(sizes)} of these."
            )
        return Quadrants(self, outputs)


class Quadrants(nn.Module):
    """(rows, 784) flat images -> (rows, outputs)."""

    def __init__(self, settings: QuadrantNet, outputs: int) -> None:
        super().__init__()
        activation = _ACTIVATIONS[settings.activation]
        local = _one_convolution(settings) if settings.convolutions == 1 else _two_convolutions(settings)
        self.front = nn.Sequential(Tiles(settings.workers), *local, nn.Flatten())
        self.first = nn.Linear(settings.inputs, settings.width)
        self.rest = nn.Sequential(activation(), nn.Linear(settings.width, outputs))

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.rest(self.first(self.front(x)))
        return outputs


def _one_convolution(settings: QuadrantNet) -> list[nn.Module]:
    """Groups: every worker has weights of its own, and all are computed in one call."""
    workers, maps = settings.workers, settings.workers * settings.channels
    convolution = nn.Conv2d(workers, maps, KERNEL, stride=STRIDE, padding=KERNEL // 2, groups=workers)
    return [convolution, _ACTIVATIONS[settings.activation]()]


def _two_convolutions(settings: QuadrantNet) -> list[nn.Module]:
    """As in the authors' code: activation, then max pooling that keeps the last odd line."""
    layers: list[nn.Module] = []
    maps = settings.workers
    for wider in (settings.channels, 2 * settings.channels):
        convolution = nn.Conv2d(maps, settings.workers * wider, KERNEL, padding=KERNEL // 2, groups=settings.workers)
        layers += [convolution, _ACTIVATIONS[settings.activation](), nn.MaxPool2d(2, ceil_mode=True)]
        maps = settings.workers * wider
    return layers


class Tiles(nn.Module):
    """(rows, 784) -> (rows, workers, side, side): the parts of the picture, row by row from the top left."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.across = math.isqrt(workers)

    def forward(self, x: Tensor) -> Tensor:
        side = SIDE // self.across
        cut = x.reshape(-1, self.across, side, self.across, side)
        return cut.transpose(2, 3).reshape(-1, self.across**2, side, side)


def front(learner: Learner, parameters: Parameters, x: Tensor) -> Tensor:
    """(rows, d1) what the workers' parts make of images: the inputs of the first fully connected layer."""
    if not isinstance(learner.module, Quadrants):
        raise InputError("Only a QuadrantNet has parts of workers before its first fully connected layer.")
    own = {name.removeprefix("front."): value for name, value in parameters.items() if name.startswith("front.")}
    inputs: Tensor = functional_call(learner.module.front, own, (x,))
    return inputs
