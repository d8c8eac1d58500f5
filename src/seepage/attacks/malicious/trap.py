"""Weights that a server made, and how it reads what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from seepage.attacks.malicious.chains import Chain
from seepage.attacks.malicious.features import Features
from seepage.models import Learner, Parameters
from seepage.observation import Exchange

Sums = Callable[[Parameters], tuple[np.ndarray, np.ndarray]]
SPACING = 6e-8  # of single precision


@dataclass(frozen=True, kw_only=True, eq=False)
class Trap:
    """A model whose neurons sort a client's rows into bins.

    Args:
        learner, parameters: what is sent.
        chains: the cuts; every row is in one bin of each chain at most.
        features: what the sums of the bins are made of.
        sums: from an update, scaled to slopes of single rows, to (bins of all chains, 1 + features) float64, and how
            large the numbers were that each was made of.
        rounding: what single precision loses of those.
        steady: over local steps a row's slope is the same in all of its bins.
        tagged: the server can compute the slope that a row has in its bins.
    """

    learner: Learner
    parameters: Parameters
    chains: tuple[Chain, ...]
    features: Features
    sums: Sums
    rounding: float
    steady: bool = False
    tagged: bool = True

    def read(self, update: Parameters, exchange: Exchange) -> tuple[np.ndarray, np.ndarray]:
        """(bins of all chains, 1 + features): what stands in each bin, and what rounding may have done to it."""
        factor = exchange.rows if exchange.protocol == "fedsgd" else -exchange.batch_size / exchange.learning_rate
        sums, sizes = self.sums({name: value.double() * factor for name, value in update.items()})
        # Sums that cancel were made of larger ones.
        errors = self.rounding * (sizes + 0.5 * sizes.mean(0))
        if exchange.protocol == "fedavg":  # a change is the difference of two weights, and rounded as these
            spacing = {name: value.double().abs() * SPACING * abs(factor) for name, value in self.parameters.items()}
            errors = errors + self.sums(spacing)[1]
        return sums, errors

    def places(self, rows: np.ndarray) -> np.ndarray:
        """(rows, chains) the bin of each row, counted over all chains; -1 where it is in none."""
        starts = np.cumsum([0, *(chain.bins for chain in self.chains)])[:-1]
        found = [chain.places(rows) for chain in self.chains]
        return np.stack([np.where(each < 0, -1, each + start) for each, start in zip(found, starts, strict=True)], 1)


def single(parameters: dict[str, np.ndarray]) -> Parameters:
    """Weights in single precision, as they are sent."""
    return {name: torch.from_numpy(np.ascontiguousarray(value)).float() for name, value in parameters.items()}
