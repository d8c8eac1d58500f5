"""Labels that are a little less than sure, in the host's loss."""

from __future__ import annotations

from dataclasses import dataclass

from seepage._core import InputError
from seepage.defenses.defense import Defense


@dataclass(frozen=True, kw_only=True)
class LabelSmoothing(Defense):
    """The host's loss takes a share of every label for spread over all classes.

    Guarantees:
        None. It makes gradients of sure rows less alike; the sign of a gradient stays the label's.

    Args:
        share: from 0 to below 1.

    References:
        Szegedy et al., Rethinking the Inception Architecture, CVPR 2016, for the loss.

    Example:
        >>> LabelSmoothing(share=0.2).smoothing
        0.2
    """

    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise InputError(f"The share of a label that is spread is {self.share}; it must be from 0 to below 1.")

    @property
    def smoothing(self) -> float:
        return self.share
