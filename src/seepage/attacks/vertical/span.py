"""What one batch of vertical learning spans."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.models import Parameters


@dataclass(frozen=True, eq=False)
class Span:
    """What one batch spans.

    Args:
        basis: (rank, inputs) orthonormal.
        clear: the smallest singular value that a batch of independent rows would have, relative to the largest;
            0 where some row or combination of rows is missing.
        parameters: the weights that it was computed at.
    """

    rows: Tensor
    basis: Tensor
    clear: float
    parameters: Parameters
