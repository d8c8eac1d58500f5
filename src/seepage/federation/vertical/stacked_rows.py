"""The rows of many runs, in the order in which batches take them: runs of the same rows share them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from seepage._core import Streams
from seepage.federation.vertical.guest import drawn_mask
from seepage.federation.vertical.messages import Stamp


class StackedRows:
    """One party's rows in every run.

    Args:
        each: (rows, ...) of every run, training rows or validation rows. Equal ones are kept once.
    """

    def __init__(self, each: Sequence[Tensor]) -> None:
        unlike: list[Tensor] = []
        places = []
        for rows in each:
            place = next((k for k, other in enumerate(unlike) if other is rows or torch.equal(other, rows)), None)
            places.append(len(unlike) if place is None else place)
            if place is None:
                unlike.append(rows)
        self._rows, self._places = torch.stack(unlike), torch.tensor(places)

    def batch(self, first: int, last: int, runs: Tensor) -> Tensor:
        """(runs, ..., rows) rows from ``first`` to before ``last``, the last axis."""
        return self._rows[:, first:last].movedim(1, -1)[self._places[runs]]


class StackedMasks:
    """Which entries a guest hides, in every run as that run alone would draw them.

    Args:
        streams: the guest's, of every run; runs with the same ones hide the same.
        name: of the guest.
        width: its columns.
        hidden: share of entries.
    """

    def __init__(self, streams: Sequence[Streams], name: str, width: int, hidden: float) -> None:
        self._unlike = list(dict.fromkeys(streams))
        self._places = torch.tensor([self._unlike.index(each) for each in streams])
        self._name, self._width, self._hidden = name, width, hidden

    def batch(self, rows: int, stamp: Stamp, runs: Tensor) -> Tensor:
        """(runs, columns, rows) 1 where an entry is hidden."""
        places = self._places[runs]
        drawn = {
            place: drawn_mask(self._unlike[place], self._name, stamp, (rows, self._width), self._hidden)
            for place in set(places.tolist())
        }
        kept = sorted(drawn)
        index = torch.tensor([kept.index(place) for place in places.tolist()])
        return torch.stack([drawn[place] for place in kept]).transpose(1, 2)[index]


class StackedCache:
    """The last intermediate results and masks of a guest, in runs that need them; zeros elsewhere.

    Args:
        used: (runs,) whether a run keeps them.
        rows: of a run.
        width: of the guest's intermediate results.
    """

    def __init__(self, used: Tensor, rows: int, width: int, *, masks: bool) -> None:
        self._slot = torch.where(used, used.cumsum(0) - 1, -1)
        self.values = torch.zeros(int(used.sum()), width, rows)
        self.masks = torch.zeros(int(used.sum()) if masks else 0, width, rows, dtype=torch.bool)

    def put(self, runs: Tensor, first: int, values: Tensor, masks: Tensor | None) -> None:
        """Keep what a guest sent in these runs, for rows from ``first``."""
        slots = self._slot[runs]
        kept = slots >= 0
        if bool(kept.any()):
            last = first + values.shape[2]
            self.values[slots[kept], :, first:last] = values.detach()[kept]
            if masks is not None:
                self.masks[slots[kept], :, first:last] = masks[kept].bool()

    def get(self, runs: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
        """(runs, columns, rows) what stands in for a guest in these runs: values, and masks."""
        slots = self._slot[runs]
        kept = slots >= 0
        values = torch.zeros(len(runs), self.values.shape[1], last - first)
        masks = torch.zeros_like(values)
        values[kept] = self.values[slots[kept], :, first:last]
        if len(self.masks):
            masks[kept] = self.masks[slots[kept], :, first:last].to(masks.dtype)
        return values, masks
