"""Modules that look categories up: their ``nn.Embedding`` layers take mixtures of categories instead of codes.

A row's category is a block with a 1; a block times the table is the table's row. A client's row gives the same numbers
as a lookup, and an attacker can move between categories. Which layer looks up which column is found by trial.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from seepage._core import InputError

Place = tuple[int, int]  # a column of codes, and what is added to its code


class SoftEmbedding(nn.Embedding):
    """An embedding that takes blocks where it has been lent some, and codes where not."""

    places: list[list[Place | None]]  # for each call in a forward pass, for each index of a row: where it comes from
    rows_of: dict[int, int]  # rows of the table that belong to a column
    lent: tuple[Tensor, ...] | None
    calls: int

    def forward(self, input: Tensor) -> Tensor:
        if self.lent is None:
            return super().forward(input)
        place, self.calls = self.places[self.calls], self.calls + 1
        weight = self.weight if self.padding_idx is None else _frozen_row(self.weight, self.padding_idx)
        parts = [
            functional.embedding(index, weight) if source is None else self._mixed(source, weight)
            for source, index in zip(place, input.flatten(1).unbind(1) if input.dim() > 1 else (input,), strict=True)
        ]
        if input.dim() == 1:
            return parts[0]
        return torch.stack(parts, 1).reshape(*input.shape, self.embedding_dim)

    def _mixed(self, source: Place, weight: Tensor) -> Tensor:
        assert self.lent is not None
        column, offset = source
        count = min(self.rows_of[column], self.lent[column].shape[-1])
        return self.lent[column][..., :count] @ weight[offset : offset + count]


def _frozen_row(weight: Tensor, row: int) -> Tensor:
    """A padding row is never trained."""
    kept = torch.arange(len(weight), device=weight.device)[:, None] != row
    return torch.where(kept, weight, weight.detach())


@dataclass(frozen=True, eq=False)
class CodeEntry:
    """From rows as this house lays them out to numbers and codes.

    Args:
        picked: places of our row that are the module's numbers, in its order.
        blocks: places of the columns that it takes as codes.
        numeric, sizes: what a function that makes the module is told.
    """

    picked: Tensor
    blocks: tuple[slice, ...]
    numeric: int
    sizes: tuple[int, ...]
    back: None = None

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(rows, numbers) and (rows, columns) codes; where a row is a mixture, the code that it has most of."""
        codes = [x[..., block].detach().argmax(-1) for block in self.blocks]
        numbers = torch.index_select(x, -1, self.picked.to(x.device))
        return numbers, torch.stack(codes, -1) if codes else numbers.new_zeros(*x.shape[:-1], 0, dtype=torch.int64)

    @contextmanager
    def lending(self, module: nn.Module, x: Tensor) -> Iterator[None]:
        """While this lasts, the module's embeddings take the blocks of these rows."""
        layers = [layer for layer in module.modules() if isinstance(layer, SoftEmbedding)]
        blocks = tuple(x[..., block] for block in self.blocks)
        for layer in layers:
            layer.lent, layer.calls = blocks, 0
        try:
            yield
        finally:
            for layer in layers:
                layer.lent = None


def soften(module: nn.Module, numeric: int, sizes: tuple[int, ...]) -> None:
    """Let the module's embeddings take mixtures of categories.

    Args:
        numeric: numbers of a row.
        sizes: codes of each column; the last one stands for unknown categories, and a table need not have it.
    """
    layers = {name: layer for name, layer in module.named_modules() if isinstance(layer, nn.Embedding)}
    if not layers:
        raise InputError("The model takes codes, but it has no torch.nn.Embedding to look them up in.")
    for name, layer in layers.items():
        if layer.max_norm is not None:
            raise InputError(f"The model's embedding {name!r} has max_norm, which changes the weights as it is used.")
    base = _indices(module, layers, numeric, sizes, {})
    sources: dict[str, list[list[Place | None]]] = {
        name: [[None] * each.shape[1] for each in calls] for name, calls in base.items()
    }
    for column in range(len(sizes)):
        moved = _indices(module, layers, numeric, sizes, {column: 1})
        for name, calls in base.items():
            for number, (before, after) in enumerate(zip(calls, moved[name], strict=True)):
                for index in (after != before).any(0).nonzero()[:, 0].tolist():
                    if not bool((after - before)[:, index].eq(1).all()):
                        raise InputError(f"The model's embedding {name!r} does not take codes as they are.")
                    sources[name][number][index] = (column, int(before[0, index]))
    for name, layer in layers.items():
        layer.__class__ = SoftEmbedding
        soft: Any = layer
        soft.places, soft.lent, soft.calls = sources[name], None, 0
        soft.rows_of = _rows_of(name, layer.num_embeddings, sources[name], sizes)


def _indices(
    module: nn.Module, layers: dict[str, nn.Embedding], numeric: int, sizes: tuple[int, ...], codes: dict[int, int]
) -> dict[str, list[Tensor]]:
    """What each embedding is asked for, call by call: (rows, indices of a row)."""
    heard: dict[str, list[Tensor]] = {name: [] for name in layers}
    handles = []
    for name, layer in layers.items():

        def hook(_: nn.Module, inputs: tuple[Tensor], name: str = name) -> None:
            heard[name].append(inputs[0].reshape(len(inputs[0]), -1).clone())

        handles.append(layer.register_forward_pre_hook(hook))
    chosen = torch.zeros(2, len(sizes), dtype=torch.int64)
    for column, code in codes.items():
        chosen[:, column] = code
    try:
        with torch.no_grad():
            module(torch.zeros(2, numeric), chosen)
    except IndexError:
        column = next(iter(codes), 0)
        raise InputError(
            f"The model's embedding has no row for the code {codes.get(column, 0)} of its column {column + 1} of "
            f"codes, whose codes are 0 to {sizes[column] - 1 if sizes else 0}."
        ) from None
    finally:
        for handle in handles:
            handle.remove()
    return heard


def _rows_of(name: str, rows: int, calls: list[list[Place | None]], sizes: tuple[int, ...]) -> dict[int, int]:
    """How many rows of a table belong to each column: up to where the next column begins."""
    begins = {place for call in calls for place in call if place is not None}
    found: dict[int, int] = {}
    for column, offset in begins:
        end = min([other for _, other in begins if other > offset] + [rows])
        if end - offset < sizes[column] - 1:
            raise InputError(
                f"The model's embedding {name!r} has no row for the code {end - offset} of its column {column + 1} of "
                f"codes, whose codes are 0 to {sizes[column] - 1}; the last one is for unknown categories."
            )
        found[column] = min(end - offset, sizes[column])
    return found


def spare_rows(module: nn.Module) -> dict[int, int]:
    """For each column of codes, the fewest rows that a table of the module has for it."""
    found: dict[int, int] = {}
    for layer in module.modules():
        if isinstance(layer, SoftEmbedding):
            for column, rows in layer.rows_of.items():
                found[column] = min(rows, found.get(column, rows))
    return found
