"""What the host's outputs are judged by, each row with its weight. Labels and weights stay at the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch.nn.functional as F  # noqa: N812
from torch import Tensor


class Objective(Protocol):
    """The host's loss."""

    @property
    def classifies(self) -> bool:
        """Whether labels are class codes; else they are numbers, and the host has one output."""
        ...

    @property
    def weights(self) -> Tensor | None:
        """(all rows,) how much each counts."""
        ...

    def loss(self, outputs: Tensor, labels: Tensor, rows: Tensor) -> Tensor:
        """The mean loss of a batch.

        Args:
            outputs: (batch, outputs) of the host's last layer.
            labels: (batch,) of these rows.
            rows: (batch,) their numbers among the aligned rows, for what is known of each row.
        """
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossEntropy:
    """For classes.

    Args:
        weights: (all rows,) how much each counts, 1 in the mean; None: all the same.
        smoothing: share of every label that is spread over all classes, as a defence.
    """

    weights: Tensor | None = None
    smoothing: float = 0.0

    classifies = True

    def loss(self, outputs: Tensor, labels: Tensor, rows: Tensor) -> Tensor:
        if self.weights is None:
            return F.cross_entropy(outputs, labels, label_smoothing=self.smoothing)
        losses = F.cross_entropy(outputs, labels, reduction="none", label_smoothing=self.smoothing)
        return _weighted(losses, self.weights[rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class SquaredError:
    """For a number; (all rows,) weights as in :class:`CrossEntropy`.

    The TabVFL thesis trains on classes only; this is what pytorch-tabnet's regressor takes.
    """

    weights: Tensor | None = None

    classifies = False

    def loss(self, outputs: Tensor, labels: Tensor, rows: Tensor) -> Tensor:
        if self.weights is None:
            return F.mse_loss(outputs[:, 0], labels)
        return _weighted((outputs[:, 0] - labels).square(), self.weights[rows])


def _weighted(losses: Tensor, weights: Tensor) -> Tensor:
    """Divided by the rows, not by the weights of this batch: so a batch of light rows counts less than one of heavy."""
    return (losses * weights).mean()
