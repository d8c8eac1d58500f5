"""The tokens of the FT-Transformer in the four passes of gradient matching."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from seepage.models.four_passes import Pairs
from seepage.models.ft_transformer import BlockFTTransformer
from seepage.models.functional import Parameters


class Tokens:
    """From rows to tokens: a number scales its vector, a block mixes the lines of its table."""

    def __init__(self, pairs: Pairs, module: BlockFTTransformer, parameters: Parameters) -> None:
        self._pairs, self._numeric, self._sizes = pairs, module.numeric, module.sizes
        self._own = parameters
        self.count = 1 + module.numeric + len(module.sizes)

    def forward(self, x: Tensor) -> Tensor:
        """(obs, rows, width) to (obs, rows x tokens, width of a token)."""
        self._numbers, entries = x[..., : self._numeric, None], x[..., self._numeric :]
        self._blocks = torch.split(entries, list(self._sizes), -1) if self._sizes else ()
        bias = self._own["tokens.bias"]
        parts = [bias.new_zeros(*x.shape[:2], 1, bias.shape[-1])]
        if self._numeric:
            parts.append(self._numbers * self._lifted("tokens.numbers"))
        parts += [(block @ table).unsqueeze(2) for block, table in zip(self._blocks, self._tables(), strict=True)]
        return (torch.cat(parts, 2) + self._lifted("tokens.bias")).flatten(1, 2)

    def backward(self, g: Tensor) -> None:
        """Its own gradients; what is before it are the rows."""
        self._slope = by_row = torch.unflatten(g, 1, (-1, self.count))
        runs, pairs = self._pairs.runs, self._pairs
        pairs.dense["tokens.bias"] = torch.unflatten(by_row, 1, (runs, -1)).sum(2)
        if self._numeric:
            numbers = self._numbers * by_row[:, :, 1 : 1 + self._numeric]
            pairs.dense["tokens.numbers"] = torch.unflatten(numbers, 1, (runs, -1)).sum(2)
        self._by_run = [pairs.split(block) for block in self._blocks]
        self._slopes = [pairs.split(slope) for slope in self._columns(by_row)]
        made = [block.transpose(-1, -2) @ slope for block, slope in zip(self._by_run, self._slopes, strict=True)]
        if made:
            pairs.dense["tokens.tables"] = torch.cat(made, 2)

    def tangent(self) -> Tensor:
        runs, by = self._pairs.runs, self._pairs.by_dense
        parts = []
        if self._numeric:
            parts.append(torch.unflatten(self._numbers, 1, (runs, -1)) * by["tokens.numbers"].unsqueeze(2))
        self._by_tables = torch.split(by["tokens.tables"], list(self._sizes), 2) if self._sizes else ()
        parts += [(block @ table).unsqueeze(3) for block, table in zip(self._by_run, self._by_tables, strict=True)]
        tokens = functional.pad(torch.cat(parts, 3), (0, 0, 1, 0)) + by["tokens.bias"].unsqueeze(2)
        return tokens.flatten(1, 3)

    def adjoint(self, u: Tensor) -> Tensor:
        """Slopes by the rows."""
        runs, by, by_row = self._pairs.runs, self._pairs.by_dense, torch.unflatten(u, 1, (-1, self.count))
        columns = slice(1, 1 + self._numeric)
        parts = []
        if self._numeric:
            own = (by_row[:, :, columns] * self._lifted("tokens.numbers")).sum(-1)
            second = torch.unflatten(self._slope[:, :, columns], 1, (runs, -1)) * by["tokens.numbers"].unsqueeze(2)
            parts.append(own + second.sum(-1).flatten(1, 2))
        each = zip(self._columns(by_row), self._tables(), self._slopes, self._by_tables, strict=True)
        for slope, table, before, by_table in each:
            second = before @ by_table.transpose(-1, -2)
            parts.append(slope @ table.transpose(-1, -2) + second.flatten(1, 2))
        return torch.cat(parts, 2)

    def _columns(self, by_row: Tensor) -> Sequence[Tensor]:
        """Of every categorical column (obs, rows, width of a token)."""
        return by_row[:, :, 1 + self._numeric :].unbind(2)

    def _tables(self) -> Sequence[Tensor]:
        return torch.split(self._own["tokens.tables"], list(self._sizes), -2) if self._sizes else ()

    def _lifted(self, name: str) -> Tensor:
        value = self._own[name]
        return value if value.dim() == 2 else value[:, None]
