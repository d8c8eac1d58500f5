"""Groups of cells by the attacker's own doubt, so that doubt can be laid beside accuracy."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["categorical", "numeric"]

# TabLeak, Tables 4 and 18-21: normalised entropy for categories, nats for numbers.
# NOTE[DIFF] the paper has one bucket of numbers below 0.72, because few cells of its batches of 128 lie there. In
# smaller batches most do: restarts that agree within the tolerance of a right number (0.319 deviations) have 0.28
# nats. So it is divided at -2, -1 and 0; the cells of these four buckets together are the paper's.
EDGES: dict[Kind, tuple[float, ...]] = {
    "categorical": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "numeric": (-math.inf, -2.0, -1.0, 0.0, 0.72, 1.16, 1.6, 2.04, math.inf),
}


@dataclass(frozen=True)
class Bucket:
    """Cells of one kind whose doubt is at least ``low`` and below ``high``; the last one holds its upper end too."""

    kind: Kind
    low: float
    high: float

    @property
    def scope(self) -> str:
        """The bucket in a measure's name."""
        return f"doubt={self.low:g}:{self.high:g}"

    @property
    def accuracy(self) -> str:
        """The metric that holds the share of its cells that are right."""
        return f"accuracy_{_SHORT[self.kind]}"

    @property
    def cells(self) -> str:
        """The metric that holds how many cells it has."""
        return f"cells_{_SHORT[self.kind]}"


_SHORT: dict[Kind, str] = {"categorical": "cat", "numeric": "num"}
BUCKETS: dict[Kind, tuple[Bucket, ...]] = {
    kind: tuple(Bucket(kind, low, high) for low, high in itertools.pairwise(edges)) for kind, edges in EDGES.items()
}


def places(kind: Kind, doubts: np.ndarray) -> np.ndarray:
    """For each doubt the place of its bucket; it must not be NaN."""
    found: np.ndarray = np.digitize(doubts, EDGES[kind][1:-1])
    return found
