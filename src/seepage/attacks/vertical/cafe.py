r"""CAFE as published: three steps of gradient descent, fed batch by batch.

*Step I* fits the slopes V to the bias gradients, *step II* the first layer's inputs H to its weight gradients,
*step III* the data themselves to all gradients, to H, and to smoothness. Nested loops run one step after the other; the
single loop runs one update of each for every batch, so it works while the model trains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from seepage._core import InputError, NotApplicable, Progress, Streams, silent
from seepage.attacks.vertical.front import has_front
from seepage.models import Parameters, layer_inputs
from seepage.observation import Claim
from seepage.observation.vertical import Recovery, VerticalScene, VerticalUpdate

Mode = Literal["single", "nested"]
Match = Literal["squared", "cosine", "gaussian"]
LONGEST = 8_000  # batches of a step of the nested loops, where it is not known how many there will be
SWITCH_ONE, SWITCH_TWO = 1e-9, 5e-9  # losses at which the nested loops go on to the next step (Table 5)


@dataclass(frozen=True, kw_only=True)
class Cafe:
    """Recover data from vertical gradients by descent.

    Published weights are those of Table 9 for MNIST. NOTE[DIFF] the paper does not name its optimisers; the authors'
    code has SGD at 5e-3 for step I, and Adam at 1e-2 for steps II and III, that moves a row only when it is in the
    batch (``cafe_paper``). Steps I and II are least squares, for which SGD has a natural step: here the rate is the
    share of the step that would meet a batch exactly, and step III takes a rate of 0.05, as all competitors do.

    Args:
        mode: ``single`` loop or ``nested`` loops.
        alpha, beta, gamma: weights of the gradients' distance, of total variation and of the distance to step II.
        xi: total variation below this is not punished; it is that of the workers' parts of a picture, on average.
        match: distance of gradients; with gamma = beta = 0 this is DLG (squared), cosine matching or SAPAG (gaussian).
        norms: weight of the distance between mean and variance of the first layer's inputs and those that a BatchNorm
            told (GradInversion's regulariser).
        consistency: group consistency: weight of the distance to the mean of ``seeds`` simultaneous recoveries.
        seeds: how many.
        rate_one, rate_two: share of a full step in steps I and II; with ``second`` = ``adam`` the rate of Adam.
        second: step II by ``share`` of a full step, or by ``adam`` as the authors have it.
        cap: batches after which nested loops go on to the next step at the latest (T of Algorithm 3); 0 for a third of
            those that will be seen.
        rate: of Adam in step III.
        image: side of square pictures, for total variation; 0 for tables.
        steps: use steps I and II at all; the competitors do not.

    References:
        Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021.

    Example:
        >>> Cafe(mode="nested").seeds
        1
    """

    mode: Mode = "single"
    alpha: float = 1e-2
    beta: float = 1e-4
    gamma: float = 1e-3
    xi: float = 25.0
    match: Match = "squared"
    norms: float = 0.0
    consistency: float = 0.0
    seeds: int = 1
    rate_one: float = 0.8
    rate_two: float = 0.8
    rate: float = 5e-2
    image: int = 0
    steps: bool = True
    second: Literal["share", "adam"] = "share"
    cap: int = 0

    def __post_init__(self) -> None:
        if min(self.alpha, self.beta, self.gamma, self.xi, self.norms, self.consistency) < 0 or self.seeds < 1:
            raise InputError("CAFE's weights must not be negative, and it needs at least one seed.")

    def start(self, scene: VerticalScene, streams: Streams, *, progress: Progress = silent) -> CafeState:
        """An attack that is fed batch by batch."""
        return CafeState(self, scene, streams)


@dataclass
class _Adam:
    """Adam whose moments live with the data; rows that are not in a batch stay as they are."""

    rate: float
    first: Tensor
    second: Tensor
    count: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.count = torch.zeros(self.first.shape[1])

    def step(self, values: Tensor, rows: Tensor, slope: Tensor) -> None:
        self.count[rows] += 1
        first = self.first[:, rows].mul(0.9).add(slope, alpha=0.1)
        second = self.second[:, rows].mul(0.999).addcmul(slope, slope, value=0.001)
        self.first[:, rows], self.second[:, rows] = first, second
        powers = self.count[rows][None, :, None]
        values[:, rows] -= self.rate * (first / (1 - 0.9**powers)) / ((second / (1 - 0.999**powers)).sqrt() + 1e-8)


class CafeState:
    """The estimates so far; ``see`` improves them with one batch."""

    def __init__(self, settings: Cafe, scene: VerticalScene, streams: Streams) -> None:
        if settings.steps and scene.bias is None:
            raise NotApplicable("The first layer has no bias, so step I of CAFE has nothing to fit.")
        self._settings, self._scene = settings, scene
        generator = torch.Generator().manual_seed(streams.integer("cafe"))
        weight = scene.learner.initial()[scene.weight]
        rows, width = scene.rows, scene.space.layout.width
        self.slopes = 1e-3 * torch.rand(rows, len(weight), generator=generator)
        self.inputs = torch.rand(rows, weight.shape[1], generator=generator)
        self.data = torch.rand(settings.seeds, rows, width, generator=generator)
        classes = scene.learner.outputs(scene.learner.initial(), torch.zeros(1, width)).shape[1]
        self.labels = torch.rand(settings.seeds, rows, max(classes, 2), generator=generator)
        self._data_adam = _Adam(settings.rate, torch.zeros_like(self.data), torch.zeros_like(self.data))
        self._label_adam = _Adam(settings.rate, torch.zeros_like(self.labels), torch.zeros_like(self.labels))
        moments = torch.zeros(2, 1, *self.inputs.shape)
        self._input_adam = _Adam(settings.rate_two, moments[0], moments[1])
        self._has_front = has_front(scene)
        self._cap = settings.cap or scene.batches // 3 or LONGEST
        self._begun = 0
        self.stage = 1
        self.seen = 0

    def see(self, update: VerticalUpdate) -> None:
        """One update of every step (single loop), or of the step that is on (nested loops)."""
        update.check(self._scene)
        settings = self._settings
        if settings.norms and update.moments is None:
            raise NotApplicable("The BN regulariser needs the statistics of a BatchNorm; these updates have none.")
        self.seen += 1
        nested = settings.mode == "nested" and settings.steps
        if settings.steps:
            if not nested or self.stage == 1:
                self._next(nested, self._first(update) < SWITCH_ONE)
            elif self.stage == 2:
                self._next(nested, self._second(update) < SWITCH_TWO)
            if not nested:
                self._second(update)
        if self._fronted and (not nested or self.stage == 3):
            self._third(update)

    def _next(self, nested: bool, fitted: bool) -> None:
        """Nested loops go on to the next step when one fits, or when it had its share of the batches."""
        if nested and (fitted or self.seen - self._begun >= self._cap):
            self.stage, self._begun = self.stage + 1, self.seen

    @property
    def _fronted(self) -> bool:
        """Whether data and the first layer's inputs are different things, or only data can be fitted."""
        return not self._settings.steps or self._has_front

    def _first(self, update: VerticalUpdate) -> float:
        """Step I: move the batch's slopes so that their sum comes nearer to the bias gradient."""
        assert self._scene.bias is not None
        rows = update.rows
        miss = self.slopes[rows].sum(0) - len(rows) * update.gradient[self._scene.bias]
        self.slopes[rows] -= self._settings.rate_one / len(rows) * miss
        return float(miss.square().mean())

    def _second(self, update: VerticalUpdate) -> float:
        """Step II: the same for inputs and the weight gradient."""
        rows, slopes = update.rows, self.slopes[update.rows]
        miss = slopes.T @ self.inputs[rows] - len(rows) * update.gradient[self._scene.weight]  # (outputs, inputs)
        if self._settings.second == "adam":
            self._input_adam.step(self.inputs[None], rows, 2 * (slopes @ miss)[None])
            return float(miss.square().mean())
        largest = torch.linalg.eigvalsh(slopes @ slopes.T)[-1].clamp(min=1e-30)
        self.inputs[rows] -= self._settings.rate_two / largest * (slopes @ miss)
        return float(miss.square().mean())

    def _third(self, update: VerticalUpdate) -> None:
        """Step III: fit the data of the batch."""
        settings, scene, rows = self._settings, self._scene, update.rows
        data = self.data[:, rows].clone().requires_grad_(True)
        labels = self.labels[:, rows].clone().requires_grad_(True)
        total = data.new_zeros(())
        middle = data.detach().mean(0)
        for seed in range(settings.seeds):
            x, y = data[seed], torch.softmax(labels[seed], 1)
            if settings.alpha:
                own = scene.learner.gradient(update.parameters, x, _as_targets(scene, y))
                total = total + settings.alpha * _distance(own, update.gradient, settings.match)
            if settings.beta and settings.image:
                rough = _variation(x, settings.image, max(1, scene.workers))
                total = total + settings.beta * torch.where(rough > settings.xi, rough, torch.zeros_like(rough))
            if (settings.gamma and settings.steps) or settings.norms:
                front = layer_inputs(scene.learner, [scene.first], update.parameters, x)[0]
            if settings.gamma and settings.steps:
                total = total + settings.gamma * (front - self.inputs[rows]).square().sum()
            if settings.norms:
                assert update.moments is not None
                mean, variance = update.moments
                miss = (front.mean(0) - mean).norm() + (front.var(0, unbiased=False) - variance).norm()
                total = total + settings.norms * miss
            if settings.consistency and settings.seeds > 1:
                total = total + settings.consistency * (x - middle).square().sum()
        slope, label_slope = torch.autograd.grad(total, (data, labels), allow_unused=True)
        self._data_adam.step(self.data, rows, slope)
        if label_slope is not None:
            self._label_adam.step(self.labels, rows, label_slope)

    def claims(self) -> list[Claim]:
        """One claim about everyone's rows."""
        return self.recover().claims(self._scene)

    def recover(self) -> Recovery:
        """The data as far as they are fitted."""
        found = self.data.mean(0) if self._fronted else self.inputs
        every = torch.ones(len(found), dtype=torch.bool)
        note = f"{self.seen} batches were fitted; descent gives an estimate of every row and no proof of any."
        labels = self.labels.mean(0).argmax(1) if self._fronted and self._settings.alpha else None
        return Recovery(found.double(), every, (), float("nan"), note, labels)


def _as_targets(scene: VerticalScene, shares: Tensor) -> Tensor:
    """Class shares as the learner takes them."""
    one_logit = (
        scene.learner.outputs(scene.learner.initial(), shares.new_zeros(1, scene.space.layout.width)).shape[1] == 1
    )
    return shares[:, 1] if one_logit else shares


def _distance(own: Parameters, seen: Parameters, match: Match) -> Tensor:
    """How far two gradients are apart."""
    size = torch.stack([value.square().sum() for value in seen.values()]).sum()
    if match == "cosine":
        along = torch.stack([(own[name] * value).sum() for name, value in seen.items()]).sum()
        length = torch.stack([own[name].square().sum() for name in seen]).sum()
        return 1 - along / (length * size).sqrt().clamp(min=1e-30)
    far = torch.stack([(own[name] - value).square().sum() for name, value in seen.items()]).sum()
    return 1 - torch.exp(-far / size.clamp(min=1e-30)) if match == "gaussian" else far


def _variation(x: Tensor, side: int, tiles: int) -> Tensor:
    """Mean total variation of the parts of a batch's pictures: no worker sees across the edges of its own."""
    across = math.isqrt(tiles)
    cut = x.reshape(-1, across, side // across, across, side // across)
    pictures = cut.transpose(2, 3).reshape(-1, side // across, side // across)
    down, right = pictures[:, 1:] - pictures[:, :-1], pictures[:, :, 1:] - pictures[:, :, :-1]
    mean: Tensor = (down.abs().sum((1, 2)) + right.abs().sum((1, 2))).mean()
    return mean
