"""Networks as others write them: with embeddings, attention over columns, attention over rows, and TabM.

TabTransformer- and SAINT-like are written after the papers' descriptions (Huang et al. 2020, Somepalli et al. 2021).
"""

from __future__ import annotations

import torch
from tabm import TabM
from torch import Tensor, nn

from seepage.models import Inputs

WIDTH = 8


class Embedded(nn.Module):
    """An embedding for each column, beside the numbers, and an MLP."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, WIDTH) for size in inputs.sizes)
        self.net = nn.Sequential(
            nn.Linear(inputs.numeric + WIDTH * len(inputs.sizes), 32), nn.ReLU(), nn.Linear(32, inputs.outputs)
        )

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        looked_up = [table(codes[:, place]) for place, table in enumerate(self.tables)]
        return self.net(torch.cat([numbers, *looked_up], 1))


class OneTable(nn.Module):
    """One embedding for all columns, each with an offset."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, *inputs.sizes[:-1]]).cumsum(0))
        self.table = nn.Embedding(sum(inputs.sizes), WIDTH)
        self.net = nn.Linear(inputs.numeric + WIDTH * len(inputs.sizes), inputs.outputs)

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        return self.net(torch.cat([numbers, self.table(codes + self.offsets).flatten(1)], 1))


class TabTransformer(nn.Module):
    """Embedded columns attend to each other; numbers join behind them."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, WIDTH) for size in inputs.sizes)
        self.column = nn.Parameter(torch.randn(len(inputs.sizes), WIDTH) / WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 2, dim_feedforward=16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(inputs.numeric)
        self.head = nn.Sequential(
            nn.Linear(inputs.numeric + WIDTH * len(inputs.sizes), 32), nn.ReLU(), nn.Linear(32, inputs.outputs)
        )

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        tokens = torch.stack([table(codes[:, place]) for place, table in enumerate(self.tables)], 1) + self.column
        return self.head(torch.cat([self.norm(numbers), self.encoder(tokens).flatten(1)], 1))


class Saint(nn.Module):
    """Every cell is a token; tokens of a row attend to each other, then the rows of a batch do."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, WIDTH) for size in inputs.sizes)
        self.numbers = nn.ModuleList(nn.Linear(1, WIDTH) for _ in range(inputs.numeric))
        whole = WIDTH * (inputs.numeric + len(inputs.sizes))
        self.columns = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.rows = nn.MultiheadAttention(whole, 1, batch_first=True)
        self.head = nn.Linear(whole, inputs.outputs)

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        cells = [layer(numbers[:, place, None]) for place, layer in enumerate(self.numbers)]
        cells += [table(codes[:, place]) for place, table in enumerate(self.tables)]
        tokens = torch.stack(cells, 1)
        tokens = tokens + self.columns(tokens, tokens, tokens, need_weights=False)[0]
        rows = tokens.flatten(1)[None]
        return self.head((rows + self.rows(rows, rows, rows, need_weights=False)[0])[0])


class Averaged(nn.Module):
    """TabM gives several answers; their mean is trained here."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.net = TabM.make(
            n_num_features=inputs.width, d_out=inputs.outputs, n_blocks=2, d_block=32, k=4, dropout=0.0
        )

    def forward(self, x: Tensor) -> Tensor:
        answers: Tensor = self.net(x)
        return answers.mean(1)


for _module in (Embedded, OneTable, TabTransformer, Saint):
    _module.inputs = "codes"  # type: ignore[attr-defined]
