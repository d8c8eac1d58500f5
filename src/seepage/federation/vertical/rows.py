"""The rows of all parties, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.federation.vertical.objective import CrossEntropy, Objective


@dataclass(frozen=True, eq=False)
class AlignedRows:
    """The same people at every party, in the same order.

    Args:
        names: of the guests.
        columns: (rows, width) encoded columns of each guest.
        labels: (rows,) class codes or numbers, at the host.
        classes: how many; 1 for a number.
        objective: what the host's outputs are judged by, at the host.
    """

    names: Sequence[str]
    columns: Sequence[Tensor]
    labels: Tensor
    classes: int
    objective: Objective = field(default_factory=CrossEntropy)

    def __post_init__(self) -> None:
        if not self.names:
            raise InputError("There is no guest; at least one party with columns is needed.")
        if len(set(self.names)) != len(self.names):
            raise InputError(f"Two guests have the same name: {', '.join(sorted(self.names))}.")
        for name, x in zip(self.names, self.columns, strict=True):
            if x.shape[1] == 0:
                raise InputError(f"Guest {name!r} has no columns.")
            if len(x) != len(self.labels):
                raise InputError(
                    f"Guest {name!r} has {len(x)} rows, the host has {len(self.labels)} labels; align them first."
                )
            if not bool(torch.isfinite(x).all()):
                raise InputError(f"Guest {name!r} has cells that are NaN or infinite.")
        if self.classes < 2 and self.objective.classifies:
            raise InputError(f"The labels have {self.classes} class; at least 2 are needed.")
