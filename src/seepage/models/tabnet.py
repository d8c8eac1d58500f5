"""TabNet: the encoder of ``pytorch-tabnet`` behind embeddings that accept mixtures of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from pytorch_tabnet.tab_network import TabNetEncoder, initialize_non_glu
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class TabNet:
    """Sequential attention over columns.

    Args:
        n_d, n_a: widths of the decision and the attention part.
        steps: decision steps.
        gamma: how freely a column may be used again.
        embedding: width of the embedding of every categorical column.

    References:
        Arik and Pfister, TabNet: Attentive Interpretable Tabular Learning, AAAI 2021.

    Example:
        >>> TabNet(steps=2).steps
        2
    """

    n_d: int = 8
    n_a: int = 8
    steps: int = 3
    gamma: float = 1.3
    independent: int = 2
    shared: int = 2
    embedding: int = 1
    binary_outputs: int = 1

    encoding = "ordinal"

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The net for inputs of this layout; the last entry of each block is the unknown category."""
        return TabNetModule(self, numeric, sizes, outputs)


class TabNetModule(nn.Module):
    """Embeddings, pytorch-tabnet's encoder, and the linear map of the summed decisions to the outputs."""

    def __init__(self, settings: TabNet, numeric: int, sizes: tuple[int, ...], outputs: int) -> None:
        super().__init__()
        self.numeric = numeric
        self.sizes = sizes
        self.embeddings = nn.ModuleList(nn.Embedding(size, settings.embedding) for size in sizes)
        width = numeric + settings.embedding * len(sizes)
        self.encoder = TabNetEncoder(
            input_dim=width,
            output_dim=outputs,
            n_d=settings.n_d,
            n_a=settings.n_a,
            n_steps=settings.steps,
            gamma=settings.gamma,
            n_independent=settings.independent,
            n_shared=settings.shared,
        )
        for attention in self.encoder.att_transformers:
            # NOTE[DIFF] pytorch-tabnet's sparsemax works in place inside a custom backward, which can be neither
            # vectorised over clients nor differentiated twice. The same function in plain operations can.
            attention.selector = Sparsemax()
        self.output = nn.Linear(settings.n_d, outputs, bias=False)
        initialize_non_glu(self.output, settings.n_d, outputs)

    def forward(self, x: Tensor) -> Tensor:
        parts = [x[:, : self.numeric]] if self.numeric else []
        if self.sizes:
            blocks = torch.split(x[:, self.numeric :], list(self.sizes), dim=-1)
            tables: list[Any] = [embedding.weight for embedding in self.embeddings]
            parts += [block @ table for block, table in zip(blocks, tables, strict=True)]
        # NOTE[DIFF] the sparsity term of TabNet's loss is left out: the profiling study's losses have none.
        decisions, _ = self.encoder(torch.cat(parts, dim=1))
        output: Tensor = self.output(torch.stack(decisions).sum(0))
        return output


class Sparsemax(nn.Module):
    """Euclidean projection of each row on the probability simplex (Martins and Astudillo, 2016)."""

    def forward(self, x: Tensor) -> Tensor:
        ordered = x.sort(dim=-1, descending=True).values
        ranks = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
        above = ordered.cumsum(-1) - 1
        # At least one entry: a row that is not a number must stay one, not stop everything.
        support = (ranks * ordered > above).sum(-1, keepdim=True).clamp(min=1)
        threshold = above.gather(-1, support - 1) / support.to(x.dtype)
        return (x - threshold).clamp(min=0)
