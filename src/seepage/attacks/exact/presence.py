r"""Which categories occur behind an update, read without any search.

In raw units the gradient of a first linear layer by a one-hot entry is :math:`\sum_i \delta_i x_{ik}`: the sum of the
slopes of those records that have category :math:`k`. It is zero if nobody has it. The same holds for a row of an
embedding table. Batch size, activation, labels and the number of local steps do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch
from torch import Tensor

from seepage.attacks.exact.span import ROUNDING
from seepage.attacks.exact.view import Layer, column_sizes, is_compressed, layer_gradient, usable_layers, view_of
from seepage.models import Parameters, number_part, parameter_name, tokens_of
from seepage.observation import Observation

CLEAR, QUIET = 10.0, 4.0  # a signal this far above the error is one; below this it is not
SPARSE = 0.5  # more zeros than this outside the tables, and a zero in a table says nothing
WEAK = 30.0  # a record whose slopes are this much smaller than the usual must still be seen before "absent" is said


class State(IntEnum):
    """Whether somebody in the batch has a category."""

    UNKNOWN = -1
    ABSENT = 0
    PRESENT = 1


@dataclass(frozen=True, eq=False)
class Presence:
    """What occurs behind an update.

    **Guarantee.** ``PRESENT``: somebody has the category; nothing else puts a signal there that is ten times the
    error. ``ABSENT``: nobody has it whose record moves the update by more than a thirtieth of the usual record. With
    noise that hides such a record the answer is ``UNKNOWN``.

    Args:
        states: for each categorical column, (categories,) of :class:`State`.
        margins: for each categorical column, the signal in units of the error.
        constants: (numeric,) the value, as an input, of a number that is the same in all records; NaN where it is not.
        readable: False if the model or the protocol does not show it at all; then everything is unknown.
    """

    states: tuple[np.ndarray, ...]
    margins: tuple[np.ndarray, ...]
    constants: np.ndarray
    readable: bool = True

    def counts(self) -> dict[str, int]:
        """How many categories are present, absent and unknown."""
        every = np.concatenate(self.states) if self.states else np.zeros(0, dtype=int)
        return {state.name.lower(): int((every == state).sum()) for state in State}


def presence_of(observation: Observation) -> Presence:
    """Read which categories occur, and which numbers are the same for everybody."""
    layout = observation.layout
    layer = next((each for each in usable_layers(observation.learner, layout.width) if each.entrance), None)
    if not observation.finite or (
        layer is not None and observation.space.standardised and observation.space.scale is None
    ):
        return _unreadable(observation)
    if layer is not None:
        return _from_layer(observation, layer)
    if tokens_of(observation.learner, layout.numeric, layout.sizes) is not None:
        return _from_tables(observation)
    return _unreadable(observation)


def _unreadable(observation: Observation) -> Presence:
    sizes = observation.layout.sizes
    return Presence(
        tuple(np.full(size, int(State.UNKNOWN)) for size in sizes),
        tuple(np.zeros(size) for size in sizes),
        np.full(observation.layout.numeric, np.nan),
        readable=False,
    )


def _from_layer(observation: Observation, layer: Layer) -> Presence:
    view = view_of(observation)
    gradient = layer_gradient(view.gradient, layer)
    span = next((span for each, span in zip(view.layers, view.spans, strict=True) if each.entrance), None)
    noise = span.error if span is not None else 0.0
    width, numeric = observation.layout.width, view.numeric
    columns = gradient[:, :width]
    bias = gradient[:, width] if layer.biased else torch.zeros(len(gradient), dtype=torch.float64)
    shift, scale = torch.zeros(width, dtype=torch.float64), torch.ones(width, dtype=torch.float64)
    if observation.space.standardised:
        assert observation.space.shift is not None
        assert observation.space.scale is not None
        shift, scale = observation.space.shift.double(), observation.space.scale.double()
    signal = (columns * scale + bias[:, None] * shift).norm(dim=0)
    rounding = 4 * ROUNDING * (column_sizes(view.gradient, layer)[:width] * scale + bias.norm() * shift.abs())
    error = len(gradient) ** 0.5 * noise * torch.hypot(scale, shift) + rounding
    # A usual record's slopes, from the whole gradient and the usual length of an input.
    usual = float(gradient.norm()) / (view.total**0.5 * (1 + numeric + len(observation.layout.sizes)) ** 0.5)
    margins = signal / error.clamp(min=1e-30)
    states = _states(margins, hidden=error * CLEAR > usual / WEAK * scale.clamp(max=1))
    # A layer that is used up shows no error to compare with. Then a silent category must prove that there is none.
    calibrated = span is not None and span.calibrated
    if not calibrated and not bool((margins[numeric:] < QUIET).any()):
        states[:] = int(State.UNKNOWN)
    # Zeros for other reasons: entries that were not sent, and a model that has learned nothing, whose records cancel.
    weight = observation.parameters[parameter_name(layer.name, "weight")]
    if view.compressed or not bool(weight.any()):
        states[states == int(State.ABSENT)] = int(State.UNKNOWN)
    value = (columns[:, :numeric] * bias[:, None]).sum(0) / bias.square().sum().clamp(min=1e-300)
    left = (columns[:, :numeric] - bias[:, None] * value).norm(dim=0)
    error_left = len(gradient) ** 0.5 * noise * (1 + value.abs()) + 4 * ROUNDING * columns[:, :numeric].norm(dim=0)
    telling = layer.biased and (layer.directions > 1 or view.total == 1)  # one direction: all columns are proportional
    fixed = (left < QUIET * error_left) & (error_left * CLEAR < usual / WEAK) & (bias.norm() > usual / WEAK)
    constants = torch.where(fixed & telling, value, torch.nan).numpy()
    blocks = observation.layout.blocks
    return Presence(
        tuple(states[block].numpy() for block in blocks),
        tuple(margins[block].numpy() for block in blocks),
        constants,
    )


def _states(margins: Tensor, hidden: Tensor) -> Tensor:
    quiet = torch.where(hidden, int(State.UNKNOWN), int(State.ABSENT))
    states = torch.where(margins < QUIET, quiet, int(State.UNKNOWN))
    return torch.where(margins > CLEAR, int(State.PRESENT), states)


def _from_tables(observation: Observation) -> Presence:
    layout = observation.layout
    tokens = tokens_of(observation.learner, layout.numeric, layout.sizes)
    assert tokens is not None
    update: Parameters = {name: value.double() for name, value in observation.update.items()}
    tables = [update[name] for name in tokens.tables]
    # The last row of every table stands for unknown categories, which nobody has: what it shows is the error.
    spare = torch.cat([table[-1] for table in tables]) if tables else torch.zeros(1, dtype=torch.float64)
    noise = float(spare.square().mean().sqrt())
    # Sparse updates have zeros for other reasons, and so have columns that the model's own attention leaves out.
    others = torch.cat([value.flatten() for name, value in update.items() if name not in tokens.tables])
    sparse = float((others == 0).double().mean()) > SPARSE
    doubtful = not tokens.faithful or sparse or is_compressed(observation.update)
    states, margins = [], []
    for table in tables:
        signal = table.norm(dim=1)
        error = table.shape[1] ** 0.5 * noise
        margin = signal / max(error, 1e-30)
        usual = float(signal.max()) / observation.exchange.rows
        hidden = torch.full((len(table),), doubtful or error * CLEAR > usual / WEAK)
        state = _states(margin, hidden)
        state[-1] = int(State.ABSENT)
        states.append(state.numpy())
        margins.append(margin.numpy())
    constants = np.full(layout.numeric, np.nan)
    if tokens.weight is not None and tokens.bias is not None:
        scaled, plain = (number_part(update[name], layout.numeric) for name in (tokens.weight, tokens.bias))
        value = (scaled * plain).sum(1) / plain.square().sum(1).clamp(min=1e-300)
        left = (scaled - value[:, None] * plain).norm(dim=1)
        error_left = plain.shape[1] ** 0.5 * noise * (1 + value.abs()) + 10 * ROUNDING * scaled.norm(dim=1)
        usual = plain.norm(dim=1) / observation.exchange.rows
        # One entry per number says nothing: any two numbers are proportional.
        fixed = (left < QUIET * error_left) & (plain.shape[1] > 1) & (error_left * CLEAR < usual / WEAK)
        constants = torch.where(fixed, value, torch.nan).numpy()
    return Presence(tuple(states), tuple(margins), constants)
