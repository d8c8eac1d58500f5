"""The meta-model: it learns on shadow models to read from weights what the training rows were (the thesis)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from seepage._core import InputError, Progress, SeepageError, Streams, silent
from seepage.attacks.properties.calibration import reach_of, temperature_of
from seepage.attacks.properties.losses import Loss, classes_of, make_loss
from seepage.attacks.properties.readers import DeepSets, Parts, Reader, take
from seepage.models import scoped_randomness
from seepage.models.stack import Stack

LEAST = 10  # shadows
CLIP = 1.0  # largest norm of a gradient
WARM = 0.1  # part of the steps in which the rate rises
READ = 512  # models read at once where nothing is learnt
STANDARD = 4096  # shadows that means and deviations are taken from; all of them would be a second copy in memory


@dataclass(frozen=True, kw_only=True, eq=False)
class Guess:
    """What a meta-model says about target models.

    Args:
        classes: (targets,) from 0, by the decoding rule of the loss.
        probabilities: (targets, classes) with a temperature that was set on shadows that did not train.
        shares: (targets,) estimates; None if the loss knows classes only.
        low, high: (targets,) ends of the intervals around the shares; None likewise.
    """

    classes: Tensor
    probabilities: Tensor
    shares: Tensor | None = None
    low: Tensor | None = None
    high: Tensor | None = None

    def __len__(self) -> int:
        return len(self.classes)


@dataclass(frozen=True, kw_only=True)
class MetaModel:
    """Settings of a meta-model.

    The thesis states the size of a representation and no other setting. These were tuned on validation shadows of
    Census-Income (509-32-16-8-2), never on targets.

    Args:
        reader: what is seen of a model, see ``readers.py``.
        loss: its name, see ``losses.py``.
        hidden: widths of the layers that follow the reader (the thesis's rho).
        epochs: at most.
        rate: the highest of AdamW; it rises during a tenth of the steps and then falls to 0.
        batch_size: shadows of a step.
        weight_decay: of AdamW.
        patience: epochs without a better validation loss before training stops. The best weights are kept.
        validation: part of the shadows that decides when to stop.
        calibration: part of the shadows that sets the temperature and the reach of intervals. It does nothing else:
            intervals would be too short on shadows that the training has looked at.
        coverage: how many of the intervals should hold the truth. They do, on average over targets that are drawn as
            the shadows were (split conformal prediction); nothing is promised for others.
    """

    reader: Reader = field(default_factory=DeepSets)
    loss: str = "nll"
    hidden: tuple[int, ...] = (64,)
    epochs: int = 60
    rate: float = 1e-3
    batch_size: int = 64
    weight_decay: float = 1e-2
    patience: int = 15
    validation: float = 0.1
    calibration: float = 0.1
    coverage: float = 0.9

    def __post_init__(self) -> None:
        make_loss(self.loss, 2)
        if min(self.epochs, self.batch_size, self.patience, *self.hidden) < 1:
            raise InputError("Epochs, batch size, patience and hidden widths of a meta-model must be at least 1.")
        if not (self.rate > 0 and self.weight_decay >= 0):
            raise InputError(
                f"The rate is {self.rate}, the weight decay {self.weight_decay}; they must be above 0 and at least 0."
            )
        if min(self.validation, self.calibration) <= 0 or self.validation + self.calibration > 0.5:
            raise InputError(
                f"Validation and calibration take {self.validation} and {self.calibration} of the shadows; each must "
                "be above 0, and together they may take a half."
            )
        if not 0 < self.coverage < 1:
            raise InputError(f"The coverage is {self.coverage}; it must lie between 0 and 1.")

    def fit(
        self, stack: Stack, shares: Tensor, *, classes: int, streams: Streams, progress: Progress = silent
    ) -> FittedMeta:
        """Learn to tell shares from weights.

        Args:
            stack: the shadow models.
            shares: (shadows,) which share of its training rows has the property.
            classes: into how many equal ranges the shares are cut.
            streams: of the cut, the weights and the order of shadows.
        """
        loss = make_loss(self.loss, classes)
        check_shadows(stack, shares, classes)
        shadows = _Shadows(self.reader.parts(stack), shares.float())
        train, validation, calibration = self._cut(shares, streams)
        with scoped_randomness(streams.integer("weights")):
            network = self._network(loss, take(shadows.parts, train[:STANDARD]))
        course = _train(self, network, loss, shadows, train, validation, streams, progress)
        held_out = shadows.take(calibration)
        outputs = outputs_of(network, held_out.parts)
        return FittedMeta(
            reader=self.reader,
            loss=loss,
            widths=stack.widths,
            network=network,
            temperature=temperature_of(loss, outputs, classes_of(held_out.shares, classes)),
            reach=reach_of(loss, outputs, held_out.shares, self.coverage),
            course=course,
        )

    def _network(self, loss: Loss, parts: Parts) -> nn.Sequential:
        reader = self.reader.network(parts)
        with torch.no_grad():
            width = reader(take(parts, torch.tensor([0]))).shape[1]
        layers: list[nn.Module] = [reader]
        for hidden in self.hidden:
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        return nn.Sequential(*layers, loss.layer(width))

    def _cut(self, shares: Tensor, streams: Streams) -> tuple[Tensor, Tensor, Tensor]:
        """Training, validation and calibration shadows; every range of shares is in each of them."""
        generator = streams.numpy("cut")
        order = torch.from_numpy(generator.permutation(len(shares)))
        left = order[shares[order].argsort(stable=True)].numpy()
        picked = []
        for part in (self.validation, self.calibration):
            blocks = np.array_split(left, max(1, round(part * len(shares))))
            picked.append(np.array([generator.choice(block) for block in blocks]))
            left = left[~np.isin(left, picked[-1])]
        left = generator.permutation(left)
        return torch.from_numpy(left), torch.from_numpy(picked[0]), torch.from_numpy(picked[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedMeta:
    """A trained meta-model.

    Args:
        reader, loss: what it was trained with.
        widths: of the models it can read.
        network: parts of models -> outputs of the loss.
        temperature: of the probabilities.
        reach: of an interval, in deviations; infinite if there were too few shadows for the coverage.
        course: training and validation loss of each epoch.
    """

    reader: Reader
    loss: Loss
    widths: tuple[int, ...]
    network: nn.Module
    temperature: float
    reach: float
    course: tuple[tuple[float, float], ...]

    def predict(self, stack: Stack) -> Guess:
        """Read target models."""
        check_targets(stack, self.widths)
        outputs = outputs_of(self.network, self.reader.parts(stack))
        classes, probabilities = self.loss.decode(outputs), self.loss.probabilities(outputs, self.temperature)
        found = self.loss.share(outputs)
        if found is None:
            return Guess(classes=classes, probabilities=probabilities)
        estimate, deviation = found
        low, high = (estimate - self.reach * deviation).clamp(0, 1), (estimate + self.reach * deviation).clamp(0, 1)
        return Guess(classes=classes, probabilities=probabilities, shares=estimate, low=low, high=high)


def check_shadows(stack: Stack, shares: Tensor, classes: int) -> None:
    """Stop at shadows that a meta-model cannot learn from."""
    if shares.shape != (len(stack),):
        raise InputError(f"There are {len(stack)} shadow models, but the shares have the shape {tuple(shares.shape)}.")
    if len(stack) < max(LEAST, classes):
        raise InputError(
            f"There are {len(stack)} shadow models for {classes} classes; at least {max(LEAST, classes)} are needed."
        )
    if not bool(((shares >= 0) & (shares <= 1)).all()):
        raise InputError("A share of a shadow model lies outside 0 to 1.")
    empty = torch.bincount(classes_of(shares, classes), minlength=classes).eq(0).nonzero().flatten().tolist()
    if empty:
        low, high = empty[0] / classes, (empty[0] + 1) / classes
        raise InputError(
            f"No shadow model has a share between {low:.2f} and {high:.2f}; each of the {classes} classes needs some."
        )
    _check_finite(stack, "shadow")


def check_targets(stack: Stack, widths: tuple[int, ...]) -> None:
    """Stop at target models that the meta-model cannot read."""
    if stack.widths != widths:
        found, known = ("-".join(map(str, each)) for each in (stack.widths, widths))
        raise InputError(f"The target models have the widths {found}, the shadow models {known}; they must be equal.")
    if not len(stack):
        raise InputError("There is no target model.")
    _check_finite(stack, "target")


def outputs_of(network: nn.Module, parts: Parts) -> Tensor:
    """What a network says about many models, without gradients."""
    network.eval()
    with torch.no_grad():
        chunks = zip(*(torch.split(part, READ) for part in parts), strict=True)
        return torch.cat([network(chunk) for chunk in chunks])


@dataclass(frozen=True, eq=False)
class _Shadows:
    """What is read of shadow models, and their shares."""

    parts: Parts
    shares: Tensor

    def take(self, chosen: Tensor) -> _Shadows:
        return _Shadows(take(self.parts, chosen), self.shares[chosen])


def _train(
    settings: MetaModel,
    network: nn.Module,
    loss: Loss,
    shadows: _Shadows,
    train: Tensor,
    validation: Tensor,
    streams: Streams,
    progress: Progress,
) -> tuple[tuple[float, float], ...]:
    """Epochs with early stopping; the best weights are in the network at the end."""
    generator = torch.Generator().manual_seed(streams.integer("order"))
    parameters = list(network.parameters())
    optimiser = torch.optim.AdamW(parameters, lr=settings.rate, weight_decay=settings.weight_decay)
    held_out = shadows.take(validation)
    total = settings.epochs * math.ceil(len(train) / settings.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rise_and_fall(step / total))
    course: list[tuple[float, float]] = []
    best, state = math.inf, network.state_dict()
    waited = 0
    with scoped_randomness(streams.integer("dropout")):
        for epoch in range(settings.epochs):
            network.train()
            losses = []
            for chosen in torch.split(torch.randperm(len(train), generator=generator), settings.batch_size):
                batch = shadows.take(train[chosen])
                value = loss.loss(network(batch.parts), batch.shares)
                optimiser.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                if bool(torch.nn.utils.clip_grad_norm_(parameters, CLIP).isfinite()):
                    optimiser.step()
                schedule.step()
                losses.append(value.item() * len(chosen))
            now = loss.loss(outputs_of(network, held_out.parts), held_out.shares).item()
            course.append((sum(losses) / len(train), now))
            waited += 1
            if now < best:  # never so for NaN
                best, waited = now, 0
                state = {name: value.clone() for name, value in network.state_dict().items()}
            progress("meta-model", epoch + 1, settings.epochs, f"validation {now:.4f}, best {best:.4f}")
            if waited >= settings.patience:
                break
    if math.isinf(best):
        raise SeepageError("The meta-model's loss was never a finite number; lower its rate.")
    network.load_state_dict(state)
    return tuple(course)


def _rise_and_fall(done: float) -> float:
    return min(done / WARM, 1.0) if done < WARM else (1 + math.cos(math.pi * (done - WARM) / (1 - WARM))) / 2


def _check_finite(stack: Stack, kind: str) -> None:
    fine = torch.ones(len(stack), dtype=torch.bool)
    for each in (*stack.weights, *stack.biases):
        fine &= each.flatten(1).isfinite().all(1)
    if not bool(fine.all()):
        raise InputError(f"{int((~fine).sum())} {kind} model(s) have weights that are not finite; leave them out.")
