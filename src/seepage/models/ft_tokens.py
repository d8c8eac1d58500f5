"""The tokens of the FT-Transformer in the four passes of gradient matching, and what the first layer makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from seepage.models.four_passes import Pairs
from seepage.models.ft_transformer import BlockFTTransformer
from seepage.models.functional import Parameters

LINES = ("tokens.numbers", "tokens.tables", "tokens.bias")  # what tokens are mixed of


class Tokens:
    """From rows to tokens: a number scales its vector, a block mixes the lines of its table."""

    def __init__(self, pairs: Pairs, module: BlockFTTransformer, parameters: Parameters) -> None:
        self.pairs, self._numeric, self._sizes = pairs, module.numeric, module.sizes
        self._own = parameters
        self.count = 1 + module.numeric + len(module.sizes)

    def forward(self, x: Tensor) -> Tensor:
        """(obs, rows, width) to (obs, rows x tokens, width of a token)."""
        self.rows = x
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
        runs, pairs = self.pairs.runs, self.pairs
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
        runs, by = self.pairs.runs, self.pairs.by_dense
        parts = []
        if self._numeric:
            parts.append(torch.unflatten(self._numbers, 1, (runs, -1)) * by["tokens.numbers"].unsqueeze(2))
        self._by_tables = torch.split(by["tokens.tables"], list(self._sizes), 2) if self._sizes else ()
        parts += [(block @ table).unsqueeze(3) for block, table in zip(self._by_run, self._by_tables, strict=True)]
        tokens = functional.pad(torch.cat(parts, 3), (0, 0, 1, 0)) + by["tokens.bias"].unsqueeze(2)
        return tokens.flatten(1, 3)

    def adjoint(self, u: Tensor) -> Tensor:
        """Slopes by the rows."""
        runs, by, by_row = self.pairs.runs, self.pairs.by_dense, torch.unflatten(u, 1, (-1, self.count))
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


class TokensThroughWeights:
    r"""What a linear layer makes of the tokens, with its weights on the lines that tokens are mixed of.

    Tokens are :math:`M E`: what rows are, :math:`M`, mixes the lines :math:`E` of tables, vectors of numbers and
    biases. So :math:`(M E) W^\top = M (E W^\top)`: these are :class:`Tokens` again, of other lines. The gradient by
    :math:`W` is :math:`(M^\top g)^\top E` and that by :math:`E` is :math:`(M^\top g) W`. The weights meet each line
    four times in all, where they would meet each token of each row seven times.

    It stands where the layer would, and tells the rows what it knows of them, the tokens nothing.

    Args:
        name: of the linear layer.
        tokens: its inputs.
    """

    def __init__(self, tokens: Tokens, module: BlockFTTransformer, parameters: Parameters, name: str) -> None:
        self._pairs, self._source, self._name = tokens.pairs, tokens, name
        self._weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
        self._names = [each for each in LINES if each in parameters]
        lines = [parameters[each] for each in self._names]
        self._counts, self._lines = [each.shape[-2] for each in lines], torch.cat(lines, -2)
        made = self._apart(self._lines @ self._weight.mT)
        made["tokens.bias"] = made["tokens.bias"] + (bias if bias.dim() == 1 else bias[:, None])
        self._tokens = Tokens(Pairs(tokens.pairs.runs), module, made)

    @staticmethod
    def pays(parameters: Parameters, tokens: int) -> bool:
        """Whether it is less work for a run of so many tokens."""
        return 4 * sum(parameters[each].shape[-2] for each in LINES if each in parameters) < 7 * tokens

    def forward(self, h: Tensor) -> Tensor:
        return self._tokens.forward(self._source.rows)

    def backward(self, g: Tensor) -> Tensor:
        self._tokens.backward(g)
        own = self._tokens.pairs.dense
        mixed = torch.cat([own[each] for each in self._names], -2)
        self._by_lines = mixed @ _over_runs(self._weight)
        self._pairs.dense[f"{self._name}.weight"] = mixed.mT @ _over_runs(self._lines)
        self._pairs.dense[f"{self._name}.bias"] = own["tokens.bias"].sum(-2)
        return g.new_zeros(1)

    def finish_backward(self) -> None:
        """What the layer adds to the gradient of the tokens' lines, when that is there."""
        for name, more in self._apart(self._by_lines).items():
            self._pairs.dense[name] = self._pairs.dense[name] + more

    def tangent(self, t: Tensor) -> Tensor:
        by = self._pairs.by_dense
        by_lines, by_weight = torch.cat([by[each] for each in self._names], -2), by[f"{self._name}.weight"]
        own = (by_lines @ _over_runs(self._weight).mT).flatten(0, 1)
        lines = _over_runs(self._lines).expand(*by_lines.shape).flatten(0, 1)
        made = torch.baddbmm(own, lines, by_weight.flatten(0, 1).mT)
        told = self._apart(torch.unflatten(made, 0, by_lines.shape[:2]))
        told["tokens.bias"] = told["tokens.bias"] + by[f"{self._name}.bias"].unsqueeze(-2)
        self._tokens.pairs.by_dense = told
        return self._tokens.tangent()

    def adjoint(self, u: Tensor) -> Tensor:
        self._slopes = u
        return u.new_zeros(1)

    def finish_adjoint(self) -> Tensor:
        """Slopes by the rows."""
        return self._tokens.adjoint(self._slopes)

    def _apart(self, lines: Tensor) -> Parameters:
        return dict(zip(self._names, torch.split(lines, self._counts, -2), strict=True))


def _over_runs(matrix: Tensor) -> Tensor:
    return matrix if matrix.dim() == 2 else matrix[:, None]
