r"""A batch of one, in closed form, for models that give every column a table of its own.

The gradient of number j's weight is :math:`x_j \delta_j` and that of its bias :math:`\delta_j`, so
:math:`x_j = \langle \partial w_j, \partial b_j \rangle / \langle \partial b_j, \partial b_j \rangle`; the category is
the row of the table that has a gradient. It holds for FedAvg too: all local steps see the same row. Models that begin
with a linear layer need nothing of their own: the span of one record is the record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from seepage.attacks.exact.certificate import PRECISE
from seepage.attacks.exact.presence import State, presence_of
from seepage.attacks.exact.span import ROUNDING
from seepage.attacks.exact.view import is_compressed
from seepage.models import number_part, tokens_of
from seepage.observation import Observation


@dataclass(frozen=True, eq=False)
class Cells:
    """One row as far as it was read.

    Args:
        codes: (categorical columns,) -1 where it was not.
        numbers: (numeric,) NaN where it was not.
    """

    codes: np.ndarray
    numbers: np.ndarray

    @property
    def complete(self) -> bool:
        """Whether every cell was read."""
        return bool((self.codes >= 0).all() and np.isfinite(self.numbers).all())


def read_single(observation: Observation) -> Cells | None:
    """Read the only row behind an update; None if the model has no tables or there are more rows."""
    layout = observation.layout
    tokens = tokens_of(observation.learner, layout.numeric, layout.sizes)
    if observation.exchange.rows != 1 or tokens is None or not observation.finite or is_compressed(observation.update):
        return None
    states = presence_of(observation).states
    codes = np.array([_only(each) for each in states], dtype=np.int64)
    numbers = np.full(layout.numeric, np.nan)
    if tokens.weight is not None and tokens.bias is not None:
        update = observation.update
        scaled, plain = (number_part(update[name].double(), layout.numeric) for name in (tokens.weight, tokens.bias))
        spare = torch.cat([update[name][-1] for name in tokens.tables]).double() if tokens.tables else torch.zeros(1)
        size = plain.square().sum(1)
        value = (scaled * plain).sum(1) / size.clamp(min=1e-300)
        left = (scaled - value[:, None] * plain).norm(dim=1)
        # A deviation of what is not explained, of what nobody's row shows, or of float32.
        entries = plain.shape[1]
        rounding = 4 * ROUNDING * scaled.abs().amax(1).clamp(min=float(plain.abs().max()) * 1e-3)
        error = torch.stack([left / max(entries - 1, 1) ** 0.5, float(spare.square().mean()) ** 0.5 + rounding]).amax(0)
        # One entry per number leaves nothing over to measure the error by: then the tables must show it.
        telling = entries > 1 or len(spare) >= 4
        sure = telling & (6 * error * (1 + value.abs()) / size.sqrt().clamp(min=1e-300) < PRECISE)
        numbers = torch.where(sure, value, torch.nan).numpy()
    return Cells(codes, numbers)


def _only(states: np.ndarray) -> int:
    """The category that is present, if exactly one is."""
    present = np.flatnonzero(states == State.PRESENT)
    return int(present[0]) if len(present) == 1 else -1
