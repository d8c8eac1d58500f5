"""What a curious server of vertical learning holds: batches it chose itself, and the gradient of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Outcome
from seepage.models import Learner, Parameters, linear_calls, parameter_name
from seepage.observation.claim import Claim
from seepage.observation.observation import Space
from seepage.results.facts import ThreatModel

IN_A_BATCH = "Which rows are in a batch: it asks for them."


@dataclass(frozen=True, kw_only=True, eq=False)
class VerticalScene:
    """What the server knows before the first batch.

    Args:
        learner: the model; its first fully connected layer sees the columns of all workers side by side.
        rows: people in the aligned tables.
        batch_size: rows of a batch.
        space: how columns become inputs, as far as the server knows.
        fixed: the weights stay as they are; otherwise every update comes with the weights it was computed at.
        moments: every update comes with the batch statistics of a BatchNorm.
        batches: how many there will be; 0 if it is not said.
        workers: parts that a picture is cut into, one for each worker; 0 for tables.
    """

    learner: Learner
    rows: int
    batch_size: int
    space: Space
    fixed: bool = True
    moments: bool = False
    batches: int = 0
    workers: int = 0

    def describe(self) -> ThreatModel:
        """Who stands here, what it will be shown, and what it knows before, as sentences."""
        knows = [
            "The model's architecture, loss and first parameters.",
            "How many rows there are.",
            IN_A_BATCH,
            "The columns of all workers: names, order, types and categories.",
        ]
        unknown = ["The rows.", "The labels."]
        if self.space.scale is not None:
            knows.append("The means and deviations with which numbers are scaled.")
        else:
            unknown.append("The means and deviations with which numbers are scaled.")
        (unknown if self.space.low is None else knows).append("The range of every number, and which are whole numbers.")
        sees = ["The aggregated gradient of every batch."]
        if self.moments:
            sees.append("Mean and variance of the first layer's inputs over every batch, as a BatchNorm tells them.")
        if not self.fixed:
            sees.append("The weights at which each gradient was computed: the model trains meanwhile.")
        return ThreatModel(
            adversary=(
                "An honest-but-curious server: it chooses the batches as the protocol says, and tries to read the "
                "rows from the gradients.",
            ),
            sees=tuple(sees),
            knows=tuple(knows),
            does_not_know=tuple(unknown),
        )

    @property
    def first(self) -> str:
        """The first fully connected layer's name."""
        return next(iter(linear_calls(self.learner, self.space.layout.width)))

    @property
    def weight(self) -> str:
        """Name of its weights."""
        return parameter_name(self.first, "weight")

    @property
    def bias(self) -> str | None:
        """Name of its bias, if it has one."""
        name = parameter_name(self.first, "bias")
        return name if name in self.learner.initial() else None


@dataclass(frozen=True, eq=False)
class VerticalUpdate:
    """One batch: which rows the server asked for, the mean gradient it got, and the weights it was computed at.

    ``moments`` are mean and variance of the first layer's inputs over the batch, where a BatchNorm tells them.
    """

    rows: Tensor
    gradient: Parameters
    parameters: Parameters
    moments: tuple[Tensor, Tensor] | None = None

    def check(self, scene: VerticalScene) -> None:
        """Stop at an update that cannot be what it says."""
        if len(self.rows) and (int(self.rows.min()) < 0 or int(self.rows.max()) >= scene.rows):
            raise InputError(f"A batch has rows outside of the data: there are rows 0 to {scene.rows - 1}.")
        if len(torch.unique(self.rows)) < len(self.rows):
            raise InputError("A batch has the same row twice.")
        if not all(bool(torch.isfinite(value).all()) for value in self.gradient.values()):
            raise InputError("A gradient holds NaN or infinity; the update cannot be used.")


@dataclass(frozen=True, eq=False)
class Recovery:
    """What an attack on vertical gradients has read.

    Args:
        inputs: (rows, first layer's inputs); NaN where nothing is determined.
        determined: (rows,) which rows the batches seen so far determine.
        dead: rows whose gradient is zero: the loss does not react to them, so nothing of them is sent.
        condition: of the linear system that separates rows; how much it can enlarge an error.
        note: what stands between the batches and every row.
        labels: (rows,) the likeliest class, where the attack looks for labels.
        fits: what was read reproduces what was sent; otherwise rows are estimates, however well they are determined.
    """

    inputs: Tensor
    determined: Tensor
    dead: tuple[int, ...]
    condition: float
    note: str
    labels: Tensor | None = None
    fits: bool = True

    def claims(self, scene: VerticalScene) -> list[Claim]:
        """One claim about everyone's rows. A row that is not determined is claimed as the average row."""
        told = self.determined.numpy()
        if self.inputs.shape[1] != scene.space.layout.width or not told.any():
            return [Claim(outcome=Outcome.NOT_APPLICABLE, note=self.note)]
        rows = np.where(told[:, None], self.inputs.numpy(), 0.0)
        outcome = Outcome.OK if told.all() and self.fits else Outcome.BUDGET_SPENT
        return [Claim(outcome=outcome, rows=rows, determined=told, ordered=True, note=self.note)]
