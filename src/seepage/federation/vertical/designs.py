"""The designs: which part of TabNet lives where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import torch
from pytorch_tabnet.tab_network import initialize_non_glu
from torch import Tensor, nn

from seepage._core import InputError
from seepage.federation.vertical.messages import Phase
from seepage.federation.vertical.party import chunk_sizes
from seepage.models.tabnet_split import Bottom, ChunkDecoder, StepsDecoder, TabNetParts

Aggregation = Literal["concatenation", "sum", "mean", "max"]
AGGREGATIONS: tuple[Aggregation, ...] = ("concatenation", "sum", "mean", "max")


class Top(Protocol):
    """What the host holds, beside the final mapping."""

    @property
    def module(self) -> nn.Module:
        """Everything that is trained."""
        ...

    @property
    def needs_masks(self) -> bool:
        """Whether guests send which entries they hid: where the attention is at the host."""
        ...

    def value_width(self, guest: int, phase: Phase) -> int:
        """Columns of a guest's intermediate results."""
        ...

    def steps(self, values: Sequence[Tensor], masks: Sequence[Tensor]) -> list[Tensor]:
        """Outputs of the decision steps, while pretraining. Masks are 1 where an entry is hidden."""
        ...

    def chunks(self, steps: list[Tensor]) -> list[Tensor]:
        """What every guest rebuilds its columns from."""
        ...

    def latent(self, values: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """The latent vectors, and the sparsity of the attention if it is at the host."""
        ...


@dataclass(frozen=True, kw_only=True)
class Own:
    """What one guest holds: the way from its columns to what it sends, and the way back, if it rebuilds anything.

    Args:
        shares_masks: it tells the host which entries it hid, because the attention is there.
    """

    bottom: nn.Module
    rebuild: nn.Module | None
    shares_masks: bool = False


class Design(Protocol):
    """Which part of the model is where. Each party builds its own part, and needs only sizes for that."""

    @property
    def name(self) -> str:
        """Of the design."""
        ...

    @property
    def local(self) -> bool:
        """Whether guests pretrain alone."""
        ...

    def guest(self, parts: TabNetParts, guests: int, place: int, width: int) -> Own:
        """The part of the guest at this place among so many, with so many encoded columns."""
        ...

    def top(self, parts: TabNetParts, widths: Sequence[int]) -> Top:
        """The host's part, for guests with these widths."""
        ...


@dataclass(frozen=True, kw_only=True)
class TabVFL:
    """The U shape of the TabVFL thesis: BatchNorm and a square layer at the guests, the rest of TabNet at the host.

    Args:
        mixed: guests have the square layer. Without it and with one guest this is central TabNet.
        decoders: where the decoder is: its last layer at the guests (``split``), or all of it (``guests``).
    """

    mixed: bool = True
    decoders: Literal["split", "guests"] = "split"

    name = "tabvfl"
    local = False

    def guest(self, parts: TabNetParts, guests: int, place: int, width: int) -> Own:
        bottom = _Plain(Bottom(width, mixed=self.mixed))
        if self.decoders == "guests":
            return Own(bottom=bottom, rebuild=StepsDecoder(parts, width), shares_masks=True)
        check_latent(parts.latent, guests)
        chunk = ChunkDecoder(chunk_sizes(parts.latent, guests)[place], width)
        return Own(bottom=bottom, rebuild=chunk, shares_masks=True)

    def top(self, parts: TabNetParts, widths: Sequence[int]) -> Top:
        if self.decoders == "split":
            check_latent(parts.latent, len(widths))
        return _Split(parts, widths, self.decoders == "split")


@dataclass(frozen=True, kw_only=True)
class LocalEncoders:
    """TabVFL-LE: a whole encoder at each guest; the host adds the decision steps of all guests up and decodes.

    Args:
        aggregation: how the steps of the guests become one. By concatenation each guest has its part of the latent.
    """

    aggregation: Aggregation = "sum"

    name = "local_encoders"
    local = False

    def guest(self, parts: TabNetParts, guests: int, place: int, width: int) -> Own:
        check_latent(parts.latent, guests)
        own = own_parts(parts, guests, self.aggregation)[place]
        size = chunk_sizes(parts.latent, guests)[place]
        return Own(bottom=_Encoder(own, width), rebuild=ChunkDecoder(size, width))

    def top(self, parts: TabNetParts, widths: Sequence[int]) -> Top:
        check_latent(parts.latent, len(widths))
        return _Aggregated(parts, own_parts(parts, len(widths), self.aggregation), self.aggregation, decodes=True)


@dataclass(frozen=True, kw_only=True)
class LocalTabNets:
    """LT, the way of earlier work: every guest pretrains a TabNet of its own; the host maps the latents side by side.

    While fine-tuning, gradients go back to the guests as in split learning.
    """

    aggregation: Aggregation = "concatenation"

    name = "local"
    local = True

    def guest(self, parts: TabNetParts, guests: int, place: int, width: int) -> Own:
        check_latent(parts.latent, guests)
        own = own_parts(parts, guests, self.aggregation)[place]
        return Own(bottom=_Encoder(own, width), rebuild=StepsDecoder(own, width))

    def top(self, parts: TabNetParts, widths: Sequence[int]) -> Top:
        check_latent(parts.latent, len(widths))
        return _Aggregated(parts, own_parts(parts, len(widths), self.aggregation), self.aggregation, decodes=False)


def check_latent(latent: int, guests: int) -> None:
    """Every guest needs at least one latent column of its own."""
    if latent < guests:
        raise InputError(
            f"The latent dimension is {latent}, but there are {guests} guests; it must be at least {guests}."
        )


class _Plain(nn.Module):
    """BatchNorm and mix. The attention is at the host, so masks go there."""

    def __init__(self, bottom: Bottom) -> None:
        super().__init__()
        self.bottom = bottom

    def forward(self, x: Tensor, masks: Tensor | None, phase: Phase) -> tuple[Tensor, None]:
        return self.bottom(x), None


class _Encoder(nn.Module):
    """A whole encoder at a guest: all decision steps while pretraining, their sum while fine-tuning."""

    def __init__(self, parts: TabNetParts, width: int) -> None:
        super().__init__()
        self.encoder = parts.encoder(width)

    def forward(self, x: Tensor, masks: Tensor | None, phase: Phase) -> tuple[Tensor, Tensor | None]:
        steps, sparsity = self.encoder(x, prior=None if masks is None else 1 - masks)
        if phase == Phase.PRETRAINING:
            return torch.cat(steps, 1), None
        return torch.stack(steps).sum(0), sparsity


class _Split:
    """The host's part of TabVFL."""

    needs_masks = True

    def __init__(self, parts: TabNetParts, widths: Sequence[int], split: bool) -> None:
        self._widths = list(widths)
        self._sizes = chunk_sizes(parts.latent, len(widths)) if split else None
        self._encoder = parts.partial_encoder(sum(widths))
        self._decoder = parts.partial_decoder() if split else None
        self.module: nn.Module = nn.ModuleDict(
            {"encoder": self._encoder} | ({"decoder": self._decoder} if self._decoder is not None else {})
        )

    def value_width(self, guest: int, phase: Phase) -> int:
        return self._widths[guest]

    def steps(self, values: Sequence[Tensor], masks: Sequence[Tensor]) -> list[Tensor]:
        prior = 1 - torch.cat(list(masks), 1).to(values[0].dtype)
        outputs: list[Tensor] = self._encoder(torch.cat(list(values), 1), prior=prior)[0]
        return outputs

    def chunks(self, steps: list[Tensor]) -> list[Tensor]:
        if self._decoder is None or self._sizes is None:
            return [torch.cat(steps, 1)] * len(self._widths)
        return list(self._decoder(steps).split(self._sizes, 1))

    def latent(self, values: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        steps, sparsity = self._encoder(torch.cat(list(values), 1))
        return torch.stack(steps).sum(0), sparsity


class _Aggregated:
    """The host's part where guests have encoders of their own."""

    needs_masks = False

    def __init__(self, parts: TabNetParts, own: Sequence[TabNetParts], aggregation: Aggregation, decodes: bool) -> None:
        self._steps = parts.steps
        self._own = [each.latent for each in own]
        self._aggregation = aggregation
        self._sizes = chunk_sizes(parts.latent, len(own))
        self._decoder = parts.partial_decoder() if decodes else None
        self.module: nn.Module = nn.ModuleDict({"decoder": self._decoder} if self._decoder is not None else {})

    def value_width(self, guest: int, phase: Phase) -> int:
        return self._own[guest] * (self._steps if phase == Phase.PRETRAINING else 1)

    def steps(self, values: Sequence[Tensor], masks: Sequence[Tensor]) -> list[Tensor]:
        return [
            aggregated(step, self._aggregation) for step in zip(*(v.chunk(self._steps, 1) for v in values), strict=True)
        ]

    def chunks(self, steps: list[Tensor]) -> list[Tensor]:
        assert self._decoder is not None
        return list(self._decoder(steps).split(self._sizes, 1))

    def latent(self, values: Sequence[Tensor]) -> tuple[Tensor, None]:
        return aggregated(values, self._aggregation), None


def own_parts(parts: TabNetParts, guests: int, aggregation: Aggregation) -> list[TabNetParts]:
    """The sizes of every guest's own encoder.

    The TabVFL thesis gives each guest its share of the latent "to facilitate similar model sizes"; the attention is
    cut in the same shares, so that all guests together have about the width of one central encoder.
    """
    if aggregation != "concatenation":
        return [parts] * guests
    latents, attentions = chunk_sizes(parts.latent, guests), chunk_sizes(parts.attention, guests)
    return [
        replace(parts, latent=latent, attention=max(1, attention))
        for latent, attention in zip(latents, attentions, strict=True)
    ]


def aggregated(values: Sequence[Tensor], how: Aggregation) -> Tensor:
    if how == "concatenation":
        return torch.cat(list(values), 1)
    stacked = torch.stack(list(values))
    return stacked.amax(0) if how == "max" else stacked.mean(0) if how == "mean" else stacked.sum(0)


def final_mapping(latent: int, classes: int) -> nn.Linear:
    """The last layer, from the latent to the classes."""
    mapping = nn.Linear(latent, classes, bias=False)
    initialize_non_glu(mapping, latent, classes)
    return mapping
