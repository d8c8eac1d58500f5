"""The tabular ResNet of Gorishniy et al., from ``rtdl_revisiting_models``."""

from __future__ import annotations

from dataclasses import dataclass

import rtdl_revisiting_models as rtdl
from torch import nn


@dataclass(frozen=True, kw_only=True)
class ResNet:
    """Residual blocks over one-hot inputs; the defaults are the profiling study's (2 blocks of 192, dropout 0.15).

    References:
        Gorishniy et al., Revisiting Deep Learning Models for Tabular Data, NeurIPS 2021.

    Example:
        >>> ResNet(blocks=1).width
        192
    """

    blocks: int = 2
    width: int = 192
    hidden_factor: float = 2.0
    dropout: float = 0.15
    residual_dropout: float = 0.0
    binary_outputs: int = 1

    encoding = "onehot"

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The net for inputs of this layout."""
        module: nn.Module = rtdl.ResNet(
            d_in=numeric + sum(sizes),
            d_out=outputs,
            n_blocks=self.blocks,
            d_block=self.width,
            d_hidden_multiplier=self.hidden_factor,
            dropout1=self.dropout,
            dropout2=self.residual_dropout,
        )
        return module
