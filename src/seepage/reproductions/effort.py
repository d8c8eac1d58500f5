"""How much of a paper's work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seepage._core import Progress


@dataclass(frozen=True)
class Effort:
    """How much of the paper's work is done.

    Args:
        scale: share of its iterations, models or trials.
        seed: of all randomness.
        progress: is shown what is done.
        folder: where runs that can be continued are kept.
        jobs: processes.
        paths: the user's own copies of data sets, by name.
        only: a part of a table: values by the key of its plan.
    """

    scale: float
    seed: int
    progress: Progress
    folder: Path = Path("runs")
    jobs: int = 2
    paths: Mapping[str, Path] = field(default_factory=dict)
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
