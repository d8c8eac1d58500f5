"""The layers behind the bins: every bin's slope arrives alike, and every row has a slope of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage.attacks.malicious.layers import Dense
from seepage.models.functional import LearningTask
from seepage.observation.servers import ServerScene

SPREAD = 0.8  # deviation of the logit that makes the slopes of rows differ
ABOVE = 8.0  # a regression's prediction is that many deviations too high, so no slope is near zero
UNLIKELY = -20.0  # logit of the third class and further ones


@dataclass(frozen=True, eq=False)
class Tag:
    """A direction whose value moves the prediction a little: by it the slopes of two rows differ.

    Args:
        direction: (width,).
        offset: added, so that the neuron always fires.
        centre: the mean over public rows, which the biases take away.
    """

    direction: np.ndarray
    offset: float
    centre: float


def make_tag(scene: ServerScene, generator: np.random.Generator) -> Tag | None:
    """A random direction in which no single number dominates; None where local steps make slopes differ anyway.

    Over several local steps the way of the tag would move the cuts; there the bias moves, and with it the slopes.
    """
    if scene.exchange.protocol == "fedavg":
        return None
    public, numeric = scene.public, scene.space.layout.numeric
    direction: np.ndarray = generator.normal(size=(public.shape[1],))
    most = np.abs(public[:, :numeric] - public[:, :numeric].mean(0)).max(0)
    direction[:numeric] *= 2 / np.where(most > 1e-9, most, 1.0)
    values = public @ direction
    direction *= SPREAD / (float(values.std()) or 1.0)
    values = public @ direction
    return Tag(direction, 1.0 + 1.2 * float(np.abs(values).max()), float(values.mean()))


def output_weights(task: LearningTask, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """(outputs,) how the tag moves each output, and the outputs' biases without it."""
    if task == "regression":
        return np.ones(1), np.full(1, ABOVE)
    if outputs == 1:
        return np.ones(1), np.zeros(1)
    order = np.arange(outputs, dtype=np.float64)
    return order, np.where(order > 1, UNLIKELY * order, 0.0)


def finish(
    parameters: dict[str, np.ndarray], dense: Dense, at: int, weights: np.ndarray, tag: Tag | None, task: LearningTask
) -> None:
    """Fill the layers behind hidden layer ``at`` (from 0), whose neurons count by ``weights``."""
    moves, biases = output_weights(task, dense.outputs)
    row = weights
    for name, inputs, outputs in zip(
        dense.names[at + 1 : -1], dense.widths[at + 1 :], dense.widths[at + 2 :], strict=False
    ):
        layer = np.zeros((outputs, inputs))
        layer[0] = row
        parameters |= {f"{name}.weight": layer, f"{name}.bias": np.zeros(outputs)}
        row = np.zeros(outputs)
        row[0] = 1.0
    last = dense.names[-1]
    parameters[f"{last}.weight"] = moves[:, None] * row
    parameters[f"{last}.bias"] = biases - (moves * (tag.offset + tag.centre) if tag is not None else 0.0)
