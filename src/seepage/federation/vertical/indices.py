"""Defences on the ids of a batch's rows: CAFE needs to know which rows are behind a gradient.

The workers agree on a secret that the server does not have, and take other rows than it asks for. The gradients stay
the true ones, so attacks on a single gradient (``attacks/exact``) read what they read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from seepage.observation.vertical import VerticalUpdate


class Ids(Protocol):
    """What the workers do to the ids of batches."""

    def __call__(
        self, updates: Iterator[VerticalUpdate], rows: int, generator: torch.Generator
    ) -> Iterator[VerticalUpdate]:
        """The updates as the server sees them.

        Args:
            updates: with the rows that are behind them.
            rows: people in the tables.
            generator: of the workers' secret.
        """
        ...


@dataclass(frozen=True)
class HiddenIds:
    """The server is told random ids, others for every batch: it cannot lay batches side by side."""

    def __call__(
        self, updates: Iterator[VerticalUpdate], rows: int, generator: torch.Generator
    ) -> Iterator[VerticalUpdate]:
        for update in updates:
            yield replace(update, rows=torch.randperm(rows, generator=generator)[: len(update.rows)])


@dataclass(frozen=True)
class RemappedIds:
    """The workers renumber people once, in secret: the server finds all rows, and not whose they are.

    That is little: a row of a table often tells by itself whose it is.
    """

    def __call__(
        self, updates: Iterator[VerticalUpdate], rows: int, generator: torch.Generator
    ) -> Iterator[VerticalUpdate]:
        secret = torch.randperm(rows, generator=generator)
        return (replace(update, rows=secret[update.rows]) for update in updates)
