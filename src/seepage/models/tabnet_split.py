"""TabNet cut in parts that can live at different parties. The parts themselves are ``pytorch-tabnet``'s.

guest                          host
``Bottom``: BatchNorm, FC  ->  ``partial_encoder``: attention and feature transformers
``ChunkDecoder``: FC       <-  ``partial_decoder``: feature transformers of the decoder
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from pytorch_tabnet.tab_network import TabNetDecoder, TabNetEncoder, initialize_non_glu
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class TabNetParts:
    """The sizes that all parts share.

    Args:
        latent: width of a decision step's output, which is the latent dimension.
        attention: width of what the attention sees.
        steps: decision steps.
        gamma: how freely a column may be used again.
        independent, shared: GLU layers of the encoder; ``decoder_`` those of the decoder.
        virtual_batch: rows of a ghost batch.
        momentum: of the ghost batch norms.
    """

    latent: int = 5
    attention: int = 5
    steps: int = 3
    gamma: float = 1.3
    independent: int = 2
    shared: int = 2
    decoder_independent: int = 1
    decoder_shared: int = 1
    virtual_batch: int = 128
    momentum: float = 0.02

    def encoder(self, width: int) -> TabNetEncoder:
        """A whole encoder for this many inputs."""
        return TabNetEncoder(
            input_dim=width,
            output_dim=width,
            n_d=self.latent,
            n_a=self.attention,
            n_steps=self.steps,
            gamma=self.gamma,
            n_independent=self.independent,
            n_shared=self.shared,
            virtual_batch_size=self.virtual_batch,
            momentum=self.momentum,
        )

    def partial_encoder(self, width: int) -> TabNetEncoder:
        """The encoder without its first BatchNorm, which every guest has for its own columns."""
        encoder = self.encoder(width)
        encoder.initial_bn = nn.Identity()
        return encoder

    def decoder(self, width: int) -> TabNetDecoder:
        """A whole decoder that rebuilds this many columns."""
        return TabNetDecoder(
            width,
            n_d=self.latent,
            n_steps=self.steps,
            n_independent=self.decoder_independent,
            n_shared=self.decoder_shared,
            virtual_batch_size=self.virtual_batch,
            momentum=self.momentum,
        )

    def partial_decoder(self) -> TabNetDecoder:
        """The decoder without its last layer, which is cut in one piece for each guest."""
        decoder = self.decoder(1)
        decoder.reconstruction_layer = nn.Identity()
        return decoder


class Bottom(nn.Module):
    """A guest's feature extractor: BatchNorm, then a square layer without bias that hides the standardised columns.

    Args:
        mixed: with that layer. Without it BatchNorm sends standardised columns nearly as they are.
    """

    def __init__(self, width: int, *, mixed: bool = True) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width, momentum=0.01)
        self.mix: nn.Module = nn.Identity()
        if mixed:
            self.mix = nn.Linear(width, width, bias=False)
            nn.init.xavier_normal_(self.mix.weight)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = self.mix(self.norm(x))
        return mixed


class ChunkDecoder(nn.Module):
    """A guest's piece of the decoder's last layer: from its chunk to its own columns."""

    def __init__(self, chunk: int, width: int) -> None:
        super().__init__()
        self.rebuild = nn.Linear(chunk, width, bias=False)
        initialize_non_glu(self.rebuild, chunk, width)

    def forward(self, chunk: Tensor) -> Tensor:
        rebuilt: Tensor = self.rebuild(chunk)
        return rebuilt


class StepsDecoder(nn.Module):
    """A whole decoder at a guest: it takes the outputs of all decision steps side by side."""

    def __init__(self, parts: TabNetParts, width: int) -> None:
        super().__init__()
        self.decoder = parts.decoder(width)
        self.steps = parts.steps

    def forward(self, steps: Tensor) -> Tensor:
        rebuilt: Tensor = self.decoder(list(steps.chunk(self.steps, dim=1)))
        return rebuilt


def obfuscated(shape: tuple[int, int], share: float, generator: torch.Generator) -> Tensor:
    """Which entries are hidden: 1 for those. TabNet's RandomObfuscator with a generator of its own."""
    return torch.bernoulli(torch.full(shape, share), generator=generator)
