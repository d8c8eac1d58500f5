"""What an update with errors of known size leaves possible, and the answer that is most often right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seepage._core import Outcome, Progress, Streams, silent
from seepage.attacks.adaptive.marginals import Marginals
from seepage.attacks.adaptive.precision import precision_of
from seepage.attacks.adaptive.rows_gradient import RowsGradient
from seepage.attacks.adaptive.sampler import Chains, Target
from seepage.attacks.inversion.pooling.align import distance
from seepage.data import Layout
from seepage.observation import Claim, Observation, gradient_of

BEHIND = 1.0  # times the root of the cells: chains further behind the best one (in nats) take no part in the answer


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the chains of one update found.

    Args:
        chances: (chains, rows, width) probabilities of categories; the numbers are not filled in.
        numbers: (draws, chains, rows, numeric).
        energy: (chains,) mean misfit and unlikelihood of the draws.
        labels: (chains, rows, classes) probabilities of labels, where they are drawn.
        unexplained: share of the update's length that the best chain leaves, beyond what chance leaves.
    """

    chances: np.ndarray
    numbers: np.ndarray
    energy: np.ndarray
    labels: np.ndarray | None
    unexplained: float


def draw(
    observations: Sequence[Observation],
    starts: Sequence[tuple[np.ndarray, Tensor | None]],
    heats: Sequence[float],
    streams: Streams,
    *,
    sweeps: int,
    progress: Progress = silent,
) -> list[Drawn]:
    """Chains from these starts, one list for each update; all updates have one model, and go together.

    Args:
        starts: for each update (chains, rows, width) inputs, and labels to begin with if there are any.
        heats: of each chain, how hot it begins (``_heat``).
        sweeps: a third cools down, a sixth settles, the rest counts.
    """
    first = observations[0]
    target = _target(observations)
    chains = len(starts[0][0])
    random = torch.Generator().manual_seed(streams.integer("chains"))
    rows = torch.cat([torch.from_numpy(each) for each, _ in starts]).float()
    begun = [_labels(first, target.classes) if each is None else each for _, each in starts]
    labels = torch.stack(begun).repeat_interleave(chains, 0)
    with torch.no_grad():
        state = Chains(target, chains, rows.clone(), labels.clone(), random)
        heat = _heat(state.settle(), target, torch.tensor(heats).repeat(len(observations)))[:, None]
        found, energy, left, numbers = torch.zeros_like(rows), torch.zeros(len(rows)), torch.zeros(len(rows)), []
        told = torch.zeros(len(rows), rows.shape[1], target.classes) if target.classes else None
        for number in range(sweeps):
            counts = number >= sweeps // 2
            state.sweep((heat ** (1 - 3 * number / sweeps)).clamp(min=1.0), found if counts else None, told)
            misfit = state.settle()
            if counts:
                energy += misfit - state.likelihood()
                left += misfit
                numbers.append(state.rows[..., : first.layout.numeric].clone())
            progress("drawing", number + 1, sweeps)
    many = len(numbers)
    unexplained = _unexplained(target, (left / many).view(-1, chains).amin(1))
    return [
        Drawn(
            (found[part] / many).numpy(),
            torch.stack(numbers)[:, part].numpy(),
            (energy[part] / many).numpy(),
            None if told is None else (told[part] / sweeps).numpy(),
            float(unexplained[place]),
        )
        for place, part in enumerate(slice(begin, begin + chains) for begin in range(0, len(rows), chains))
    ]


def _heat(misfit: Tensor, target: Target, shares: Tensor) -> Tensor:
    """(runs,) temperatures to begin with: these shares of those at which chance alone explains a start's misfit."""
    entries = sum(each[0].numel() for each in target.update)
    cells = target.rows * (target.layout.numeric + len(target.layout.sizes))
    return (shares * (misfit - entries / 2) / cells).clamp(min=1.0)


def _unexplained(target: Target, misfit: Tensor) -> Tensor:
    """(observations,) by how much misfits are above those of the true rows, as a share of the update's length."""
    entries, length = torch.zeros_like(misfit), torch.zeros_like(misfit)
    for update, precision in zip(target.update, target.precision, strict=True):
        entries += (precision > 0).expand_as(update).sum((1, 2))
        length += (update.square() * precision).sum((1, 2)) / 2
    return ((misfit - entries / 2).clamp(min=0) / length.clamp(min=1e-30)).sqrt()


def _target(observations: Sequence[Observation]) -> Target:
    first = observations[0]
    channel = first.exchange.channel
    gradients, scales = zip(*(gradient_of(each) for each in observations), strict=True)
    gradient = RowsGradient(first.learner, first.parameters, first.layout.width, channel.row_clip)
    sent = {name: torch.stack([each[name] for each in gradients]).float() for name in first.parameters}
    precision = gradient.observed(precision_of(channel, sent, abs(scales[0]), first.exchange.batch_size))
    if not channel.uneven:  # one number for all entries: less work
        precision = [precision[0][0, :1, :1][None]] * len(precision)
    known = first.labels is not None or first.learner.task == "regression"
    outputs = first.learner.outputs(first.parameters, torch.zeros(1, first.layout.width)).shape[-1]
    return Target(
        gradient=gradient,
        layout=first.layout,
        rows=first.exchange.rows,
        update=gradient.observed(sent),
        precision=precision,
        marginals=Marginals.of(first.space),
        clipped=channel.clip * abs(scales[0]),
        order=channel.order,
        classes=0 if known else max(int(outputs), 2),
    )


def _labels(observation: Observation, classes: int) -> Tensor:
    """Of rows of which no label is known."""
    return torch.arange(observation.exchange.rows) % max(classes, 1)


def answer(drawn: Drawn, layout: Layout, marginals: Marginals) -> Claim:
    """Of every cell the category that is likeliest, or the median of the number, over all chains that fit.

    Chains find the rows in other orders: they are put into that of the best one first.
    """
    numeric, best = layout.numeric, int(drawn.energy.argmin())
    rows = drawn.chances.copy()
    rows[..., :numeric] = np.median(drawn.numbers, axis=0)
    chances, numbers, labels = [], [], []
    behind = BEHIND * (rows.shape[1] * (numeric + len(layout.sizes))) ** 0.5
    for chain in np.flatnonzero(drawn.energy <= drawn.energy[best] + behind):
        order = linear_sum_assignment(distance(rows[best], rows[chain]))[1]
        chances.append(drawn.chances[chain][order])
        numbers.append(drawn.numbers[:, chain][:, order])
        if drawn.labels is not None:
            labels.append(drawn.labels[chain][order])
    mean, values = np.mean(chances, axis=0), np.concatenate(numbers)
    claimed = np.zeros_like(mean)
    claimed[:, :numeric] = np.median(values, axis=0)
    doubt = [_spread(values)]
    for block, codes in zip(layout.blocks, marginals.codes, strict=True):
        part = mean[:, block.start : block.start + len(codes)]
        claimed[:, block] = codes.numpy()[part.argmax(1)]
        doubt.append(_entropy(part)[:, None])
    return Claim(
        outcome=Outcome.BUDGET_SPENT,
        rows=claimed,
        labels=np.mean(labels, axis=0).argmax(1) if labels else None,
        doubt=np.concatenate(doubt, 1),
        loss=float(drawn.energy[best]),
    )


def _spread(values: np.ndarray) -> np.ndarray:
    """(draws, rows, numeric) to the entropy of a normal distribution of the draws' variance."""
    entropy: np.ndarray = 0.5 + 0.5 * np.log(2 * np.pi * np.maximum(values.var(0), 1e-12))
    return entropy


def _entropy(chances: np.ndarray) -> np.ndarray:
    """(rows, categories) to the entropy, of which 1 is the most."""
    if chances.shape[1] < 2:
        return np.zeros(len(chances))
    share = np.maximum(chances, 1e-12)
    share /= share.sum(1, keepdims=True)
    entropy: np.ndarray = -(share * np.log(share)).sum(1) / np.log(chances.shape[1])
    return entropy.clip(0, 1)
