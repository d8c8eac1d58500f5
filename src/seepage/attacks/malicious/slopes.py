"""The slope that a row must have: the server made the model, so it can compute it for every row and label."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from seepage.attacks.malicious.trap import Trap
from seepage.models import Learner, Parameters

COPIES = 3  # equal rows of one bin that are told
NEAR = 4e-6


@dataclass(frozen=True, eq=False)
class KnownSlopes:
    """Slopes of rows by label, for one gradient (FedSGD) of a classification.

    Args:
        learner, parameters: what was sent.
        classes: of the target.
    """

    learner: Learner
    parameters: Parameters
    classes: int

    def of(self, rows: np.ndarray) -> np.ndarray:
        """(rows, classes) the slope of the first output's direction: what a bin adds up."""
        outputs = self.learner.outputs(self.parameters, torch.from_numpy(rows).float())
        if outputs.shape[1] == 1:
            chance = torch.sigmoid(outputs).double().numpy()
            return np.concatenate([chance, chance - 1], axis=1)
        chances = torch.softmax(outputs, dim=1).double().numpy()
        moves = np.arange(outputs.shape[1], dtype=np.float64)
        return np.asarray((chances @ moves)[:, None] - moves[: self.classes])

    def settled(self, rows: np.ndarray, slopes: np.ndarray, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(rows,) the slopes as they must be, and (rows, classes) how many equal rows of each label they stand for.

        Where no label fits, the counts are all zero: what was read is not a row.
        """
        own = self.of(rows)
        counts = np.zeros((len(rows), self.classes), dtype=np.int64)
        exact, best = slopes.copy(), 5 * slack + NEAR
        for copies in range(1, COPIES + 1):
            for labels in itertools.combinations_with_replacement(range(self.classes), copies):
                total = own[:, list(labels)].sum(1)
                away = np.abs(total - slopes)
                # One row is likelier than two that happen to add up to the same.
                better = (away < best) & (counts.sum(1) == 0)
                exact[better] = total[better]
                counts[better] = np.bincount(labels, minlength=self.classes)
        return exact, counts


def known_slopes(trap: Trap, classes: int, *, one_step: bool) -> KnownSlopes | None:
    """The slopes of one gradient of a classification; None where the server cannot know them beforehand."""
    learner = trap.learner
    plain = learner.task != "regression" and learner.criterion is None and learner.positive_weight == 1
    if not trap.tagged or not one_step or not plain or classes < 2 or classes > 8:
        return None
    return KnownSlopes(learner, trap.parameters, classes)
