"""What every model file offers, and how a learner is made from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import torch
from torch import nn

from seepage._core import InputError
from seepage.models.entry import Way
from seepage.models.foreign import Foreign
from seepage.models.functional import Learner, LearningTask, scoped_randomness
from seepage.models.own_loss import Function
from seepage.models.trial import tried


class Architecture(Protocol):
    """Settings of a network that can build it for any layout."""

    @property
    def encoding(self) -> Literal["onehot", "ordinal"]: ...

    @property
    def binary_outputs(self) -> int: ...

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module: ...


@dataclass(frozen=True)
class Arranged:
    """An architecture as somebody uses it: with rows laid out otherwise, or with a loss of their own.

    Args:
        architecture: that builds the module.
        entry: what is done to rows before the module takes them.
        criterion: the mean loss, from outputs and targets; None for the task's.
    """

    architecture: Architecture
    entry: Way | None = None
    criterion: Function | None = None

    @property
    def encoding(self) -> Literal["onehot", "ordinal"]:
        """Of the architecture."""
        return self.architecture.encoding

    @property
    def binary_outputs(self) -> int:
        """Of the architecture."""
        return self.architecture.binary_outputs

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The module for inputs as it takes them; ``numeric`` and ``sizes`` are of our rows."""
        if self.entry is None:
            return self.architecture.build(numeric, sizes, outputs)
        return self.architecture.build(self.entry.numeric, self.entry.sizes, outputs)


def make_learner(
    architecture: Architecture,
    numeric: int,
    sizes: tuple[int, ...],
    task: LearningTask,
    classes: int,
    *,
    seed: int,
    positive_weight: float = 1.0,
    batch_statistics: bool = False,
) -> Learner:
    """A learner with freshly drawn parameters.

    Args:
        numeric, sizes: the layout of the inputs.
        task, classes: of the target; ``classes`` counts for multiclass only.
        seed: of the initial parameters.
        batch_statistics: BatchNorm is in training mode.
    """
    if architecture.binary_outputs not in (1, 2):
        raise InputError(f"A binary model has 1 or 2 outputs, not {architecture.binary_outputs}.")
    outputs = {"binary": architecture.binary_outputs, "multiclass": classes, "regression": 1}[task]
    entry, criterion = _own_entry(architecture, numeric, sizes), None
    if isinstance(architecture, Arranged):
        inner = _own_entry(architecture.architecture, numeric, sizes)
        entry, criterion = architecture.entry or inner, architecture.criterion
    with scoped_randomness(seed):
        module = architecture.build(numeric, sizes, outputs)
    learner = Learner(module, task, positive_weight, batch_statistics=batch_statistics, entry=entry)
    learner = replace(learner, criterion=criterion)
    if _is_ours(architecture) or torch.empty(0).is_meta:  # there, only its size is asked for
        return learner
    return tried(learner, numeric + sum(sizes))


def _own_entry(architecture: Architecture, numeric: int, sizes: tuple[int, ...]) -> Way | None:
    """What an architecture does to rows by itself: one of somebody else may take codes."""
    return architecture.entry(numeric, sizes) if isinstance(architecture, Foreign) else None


def _is_ours(architecture: Architecture) -> bool:
    """Whether it is one of the house's nets, which take all of ``torch.func``."""
    if isinstance(architecture, Arranged):
        return False
    return type(architecture).__module__.startswith("seepage.models.") and not isinstance(architecture, Foreign)
