"""FT-Transformer from ``rtdl_revisiting_models``, with categories that may be mixtures.

The native model looks a category's code up in an embedding table. Here a categorical column comes as a block of
weights over its categories, and the token is ``block @ table``: for a one-hot block that is the same row of the table,
and the gradient of the table is the same too. For an attacker it is a differentiable path to the categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import rtdl_revisiting_models as rtdl
import torch
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class FTTransformer:
    """The profiling study's reduced FT-Transformer: 2 blocks, width 128, 4 heads.

    References:
        Gorishniy et al., Revisiting Deep Learning Models for Tabular Data, NeurIPS 2021.

    Example:
        >>> FTTransformer(heads=2).encoding
        'ordinal'
    """

    blocks: int = 2
    width: int = 128
    heads: int = 4
    attention_dropout: float = 0.1
    ffn_factor: float = 4 / 3
    ffn_dropout: float = 0.1
    residual_dropout: float = 0.0
    binary_outputs: int = 1

    encoding = "ordinal"

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The net for inputs of this layout; the last entry of each block is the unknown category."""
        native = rtdl.FTTransformer(
            n_cont_features=numeric,
            cat_cardinalities=list(sizes),
            d_out=outputs,
            n_blocks=self.blocks,
            d_block=self.width,
            attention_n_heads=self.heads,
            attention_dropout=self.attention_dropout,
            ffn_d_hidden=None,
            ffn_d_hidden_multiplier=self.ffn_factor,
            ffn_dropout=self.ffn_dropout,
            residual_dropout=self.residual_dropout,
        )
        return BlockFTTransformer(native, numeric, sizes)


class BlockFTTransformer(nn.Module):
    """The native model, fed with numbers and blocks of category weights instead of numbers and codes."""

    def __init__(self, native: nn.Module, numeric: int, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.native = native
        self.numeric = numeric
        self.sizes = sizes

    def forward(self, x: Tensor) -> Tensor:
        native: Any = self.native
        tokens = [native.cls_embedding(x.shape[:-1])]  # (rows, 1, width)
        if self.numeric:
            tokens.append(native.cont_embeddings(x[:, : self.numeric]))
        if self.sizes:
            blocks = torch.split(x[:, self.numeric :], list(self.sizes), dim=-1)
            tables = [embedding.weight for embedding in native.cat_embeddings.embeddings]
            mixed = [block @ table for block, table in zip(blocks, tables, strict=True)]
            tokens.append(torch.stack(mixed, dim=-2) + native.cat_embeddings.bias)
        output: Tensor = native.backbone(torch.cat(tokens, dim=1))
        return output
