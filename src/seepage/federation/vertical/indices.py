"""Defences on the ids of a batch's rows: CAFE needs to know which rows are behind a gradient.

The workers agree on a secret that the server does not have, and take other rows than it asks for. The gradients stay
the true ones, so attacks on a single gradient (``attacks/exact``) read what they read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from seepage._core import InputError
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


def remapped(updates: Iterator[VerticalUpdate], secret: Tensor) -> Iterator[VerticalUpdate]:
    """The workers renumber people once, in secret: the server finds all rows, and not whose they are.

    That is little: a row of a table often tells by itself whose it is.

    Args:
        updates: with the rows that are behind them.
        secret: (rows,) everyone's new number, as from ``torch.randperm``.
    """
    if not torch.equal(secret.sort().values, torch.arange(len(secret))):
        raise InputError("The secret numbers are not a renumbering: each of 0, 1, 2, ... must be there once.")
    return (replace(update, rows=secret[update.rows]) for update in updates)
