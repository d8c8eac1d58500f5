"""Guests that are not there, and what stands in for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from seepage._core import InputError, Streams
from seepage.federation.vertical.messages import Phase

Method = Literal["cache", "zeros", "hybrid"]
METHODS: tuple[Method, ...] = ("cache", "zeros", "hybrid")


@dataclass(frozen=True, kw_only=True)
class Failures:
    """Each guest is absent in an epoch with this probability (the TabVFL thesis, section IV-E).

    The method is also what stands in for a guest that really is late; a probability of 0 says nothing about that.

    Args:
        probability: of a guest and an epoch.
        method: ``cache``: its last intermediate results and masks stand in; everybody must be there in the first epoch.
            ``zeros``: zeros do. ``hybrid``: the cache, and zeros while it is empty, so nobody must be there at first.
    """

    probability: float = 0.0
    method: Method = "hybrid"

    def __post_init__(self) -> None:
        if not 0 <= self.probability < 1:
            raise InputError(f"The failure probability is {self.probability}; it must be at least 0 and below 1.")

    def absent(self, guests: Sequence[str], phase: Phase, epoch: int, streams: Streams) -> set[str]:
        """Who is not there."""
        # NOTE[DIFF] the TabVFL thesis has everybody present in the first epoch for its cache; for a fair comparison
        # zeros get the same first epoch here.
        if self.probability == 0 or (epoch == 0 and self.method != "hybrid"):
            return set()
        drawn = streams.numpy("failures", phase.value, epoch).random(len(guests))
        return {guest for guest, draw in zip(guests, drawn, strict=True) if draw < self.probability}


class Cache:
    """The last intermediate results and masks of every row, by guest.

    Args:
        rows: of the aligned tables.
        method: zeros need no memory.
    """

    def __init__(self, rows: int, method: Method) -> None:
        self._rows, self._used = rows, method != "zeros"
        self._values: dict[str, Tensor] = {}
        self._masks: dict[str, Tensor] = {}

    def clear(self) -> None:
        """A new phase: what guests send has another meaning now."""
        self._values, self._masks = {}, {}

    def put(self, guest: str, rows: Tensor, values: Tensor, masks: Tensor | None) -> None:
        """Keep what a guest sent."""
        if not self._used:
            return
        if guest not in self._values or self._values[guest].shape[1] != values.shape[1]:
            self._values[guest] = torch.zeros(self._rows, values.shape[1])
        self._values[guest][rows] = values
        if masks is not None:
            if guest not in self._masks:
                self._masks[guest] = torch.zeros(self._rows, masks.shape[1], dtype=torch.bool)
            self._masks[guest][rows] = masks

    def get(self, guest: str, rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """What stands in for a guest: its last values and masks, zeros where there are none."""
        values = self._values[guest][rows] if guest in self._values else torch.zeros(len(rows), width)
        masks = self._masks[guest][rows] if guest in self._masks else torch.zeros(len(rows), width, dtype=torch.bool)
        return values, masks

    def state(self) -> dict[str, Tensor]:
        """To save."""
        return {f"cache.values.{name}": value for name, value in self._values.items()} | {
            f"cache.masks.{name}": value for name, value in self._masks.items()
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a saved state."""
        for kind, store in (("values", self._values), ("masks", self._masks)):
            store.clear()
            prefix = f"cache.{kind}."
            store |= {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
