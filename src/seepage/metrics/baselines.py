"""What one gets without looking at the update. An attack leaks only what it has beyond these.

- ``prior``: every row is the client's mean and mode. It needs the client's own statistics, so it is a strong guess.
- ``uniform``: numbers uniform over the observed range, categories uniform.
- ``marginal``: draws from the data set's columns, numbers from histograms of 100 equal bins.
- ``tableak_random``: TabLeak's published Random. As ``marginal``, but a number is drawn once for the whole batch, at
  the lower end of its bin. It stands beside published numbers only; a gate does not look at it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seepage.metrics.reference import BINS, Reference
from seepage.results import TABLEAK_RANDOM

Guess = tuple[np.ndarray, np.ndarray]  # numbers and codes
Guesser = Callable[[int, Reference, Reference, np.random.Generator], Guess]


def prior(rows: int, client: Reference, training: Reference, generator: np.random.Generator) -> Guess:
    """The client's mean and mode, in every row."""
    modes = np.array([share.argmax() for share in client.shares], dtype=np.int64)
    return np.tile(client.table.numbers.mean(0), (rows, 1)), np.tile(modes, (rows, 1))


def uniform(rows: int, client: Reference, training: Reference, generator: np.random.Generator) -> Guess:
    """Anything in the range, any category."""
    numbers = generator.uniform(training.low, training.high, size=(rows, len(training.low)))
    sizes = np.array([len(share) for share in training.shares], dtype=np.int64)
    return numbers, generator.integers(0, sizes, size=(rows, len(sizes)))


def marginal(rows: int, client: Reference, training: Reference, generator: np.random.Generator) -> Guess:
    """Draws from the data set's own columns, each by itself."""
    numbers = np.empty((rows, len(training.low)))
    for j, histogram in enumerate(training.histograms):
        bins = generator.choice(BINS, size=rows, p=histogram / histogram.sum())
        width = (training.high[j] - training.low[j]) / BINS
        numbers[:, j] = training.low[j] + (bins + generator.uniform(size=rows)) * width
    codes = np.empty((rows, len(training.shares)), dtype=np.int64)
    for j, share in enumerate(training.shares):
        codes[:, j] = generator.choice(len(share), size=rows, p=share)
    return numbers, codes


def tableak_random(rows: int, client: Reference, training: Reference, generator: np.random.Generator) -> Guess:
    """One number a column for all rows, and categories row by row, as the authors' code draws them."""
    numbers, codes = marginal(rows, client, training, generator)
    width = (training.high - training.low) / BINS
    place = np.floor((numbers[:1] - training.low) / np.where(width > 0, width, 1.0)).clip(0, BINS - 1)
    return np.tile(training.low + place * width, (rows, 1)), codes


GUESSERS: dict[str, tuple[Guesser, bool]] = {  # name: function, whether it is random
    "prior": (prior, False),
    "uniform": (uniform, True),
    "marginal": (marginal, True),
    TABLEAK_RANDOM: (tableak_random, True),
}
