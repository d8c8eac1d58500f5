"""Logistic or linear regression: the smallest model, and the one that leaks most per parameter."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True, kw_only=True)
class Linear:
    """One linear layer from the one-hot inputs to the outputs.

    References:
        Cox, The regression analysis of binary sequences, 1958.

    Example:
        >>> Linear().build(2, (3,), 1).in_features
        5
    """

    binary_outputs: int = 1

    encoding = "onehot"

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The layer for inputs of this layout."""
        return nn.Linear(numeric + sum(sizes), outputs)
