"""The loss that clients minimise: the task's own, or a function of somebody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

Function = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class TaskLoss:
    """Cross-entropy for classes, the squared error for numbers."""

    function: None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OwnLoss:
    """A function of somebody else, for all that a client and an attacker compute.

    Args:
        function: from outputs (rows, outputs) and targets (rows,), class codes or numbers, to the rows' mean loss.
    """

    function: Function

    @property
    def called(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__).strip("<>")

    def __repr__(self) -> str:
        return f"OwnLoss({self.function!r})"


def as_loss(found: object) -> object:
    """What somebody names or gives as a loss; a function becomes one."""
    if isinstance(found, OwnLoss | TaskLoss | type) or not callable(found):
        return found
    return OwnLoss(function=found)
