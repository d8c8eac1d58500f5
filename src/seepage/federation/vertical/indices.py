"""Defences on the ids of a batch's rows: CAFE needs to know which rows are behind a gradient.

The workers agree on a secret that the server does not have, and take other rows than it asks for. The gradients stay
the true ones, so attacks on a single gradient (``attacks/exact``) read what they read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from seepage.observation.vertical import VerticalUpdate


def hidden(updates: Iterator[VerticalUpdate], rows: int, generator: torch.Generator) -> Iterator[VerticalUpdate]:
    """The server is told random ids, others for every batch: it cannot lay batches side by side.

    Args:
        updates: with the rows that are behind them.
        rows: people in the tables.
    """
    for update in updates:
        told = torch.randperm(rows, generator=generator)[: len(update.rows)]
        yield replace(update, rows=told)


def remapped(updates: Iterator[VerticalUpdate], rows: int, generator: torch.Generator) -> Iterator[VerticalUpdate]:
    """The workers renumber people once, in secret: the server finds all rows, and not whose they are.

    That is little: a row of a table often tells by itself whose it is. The row that the server finds at id n is the
    workers' row m with ``renumbering(rows, generator)[m] == n``.
    """
    secret = renumbering(rows, generator)
    for update in updates:
        yield replace(update, rows=secret[update.rows])


def renumbering(rows: int, generator: torch.Generator) -> torch.Tensor:
    """Where everyone goes: (rows,) new numbers."""
    return torch.randperm(rows, generator=generator)
