"""The designs for many runs at once: which functions of TabNet are computed where. Rows come last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from seepage.federation.vertical.designs import Design, LocalEncoders, LocalTabNets, TabVFL, aggregated, own_parts
from seepage.federation.vertical.messages import Phase
from seepage.federation.vertical.party import chunk_sizes
from seepage.models import tabnet_stack
from seepage.models.tabnet_split import TabNetParts
from seepage.models.tabnet_stack import Weights


class StackedDesign(Protocol):
    """What :class:`Design` makes modules for, as functions of stacked weights."""

    @property
    def needs_masks(self) -> bool:
        """The attention is at the host, which must know what is hidden."""
        ...

    def value_width(self, guest: int, phase: Phase) -> int:
        """Columns of a guest's intermediate results."""
        ...

    def values(
        self, weights: Weights, guest: int, x: Tensor, masks: Tensor | None, phase: Phase
    ) -> tuple[Tensor, Tensor | None]:
        """(runs, columns, rows) a guest's intermediate results, and the sparsity of its own attention."""
        ...

    def rebuilt(self, weights: Weights, guest: int, chunk: Tensor) -> Tensor:
        """A guest's columns from its chunk."""
        ...

    def chunks(self, weights: Weights, values: Sequence[Tensor], masks: Tensor | None) -> Sequence[Tensor]:
        """What every guest rebuilds its columns from, at the host."""
        ...

    def latent(self, weights: Weights, values: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """The latent vectors at the host, and the sparsity of its attention."""
        ...


def stacked_design(design: Design, parts: TabNetParts, widths: Sequence[int]) -> StackedDesign | None:
    """The same design for many runs; None for one that is not known here."""
    if isinstance(design, TabVFL):
        return _Split(design, parts, widths)
    if isinstance(design, LocalEncoders | LocalTabNets):
        return _Aggregated(parts, own_parts(parts, len(widths), design.aggregation), design)
    return None


class _Split:
    """TabVFL: BatchNorm and a square layer at the guests, the rest at the host."""

    needs_masks = True

    def __init__(self, design: TabVFL, parts: TabNetParts, widths: Sequence[int]) -> None:
        self._mixed, self._parts, self._widths = design.mixed, parts, list(widths)
        self._split = design.decoders == "split"

    def value_width(self, guest: int, phase: Phase) -> int:
        return self._widths[guest]

    def values(
        self, weights: Weights, guest: int, x: Tensor, masks: Tensor | None, phase: Phase
    ) -> tuple[Tensor, None]:
        return tabnet_stack.bottom(weights.below("bottom", "bottom"), x, mixed=self._mixed), None

    def rebuilt(self, weights: Weights, guest: int, chunk: Tensor) -> Tensor:
        return _rebuilt(weights, chunk, None if self._split else self._parts)

    def chunks(self, weights: Weights, values: Sequence[Tensor], masks: Tensor | None) -> Sequence[Tensor]:
        prior = None if masks is None else 1 - masks
        steps, _ = tabnet_stack.encoder(
            weights.below("top", "encoder"), torch.cat(list(values), 1), prior, self._parts, first=False, sparsity=False
        )
        if not self._split:
            return [torch.cat(steps, 1)] * len(self._widths)
        built = tabnet_stack.decoder(weights.below("top", "decoder"), steps, self._parts, last=False)
        return torch.split(built, chunk_sizes(self._parts.latent, len(self._widths)), 1)

    def latent(self, weights: Weights, values: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        steps, sparsity = tabnet_stack.encoder(
            weights.below("top", "encoder"), torch.cat(list(values), 1), None, self._parts, first=False, sparsity=True
        )
        return torch.stack(steps).sum(0), sparsity


class _Aggregated:
    """Designs with an encoder at every guest."""

    needs_masks = False

    def __init__(self, parts: TabNetParts, own: Sequence[TabNetParts], design: LocalEncoders | LocalTabNets) -> None:
        self._parts, self._own, self._how = parts, own, design.aggregation
        self._decodes = isinstance(design, LocalEncoders)

    def value_width(self, guest: int, phase: Phase) -> int:
        return self._own[guest].latent * (self._parts.steps if phase == Phase.PRETRAINING else 1)

    def values(
        self, weights: Weights, guest: int, x: Tensor, masks: Tensor | None, phase: Phase
    ) -> tuple[Tensor, Tensor | None]:
        prior = None if masks is None else 1 - masks
        steps, sparsity = tabnet_stack.encoder(
            weights.below("bottom", "encoder"),
            x,
            prior,
            self._own[guest],
            first=True,
            sparsity=phase == Phase.FINETUNING,
        )
        if phase == Phase.PRETRAINING:
            return torch.cat(steps, 1), None
        return torch.stack(steps).sum(0), sparsity

    def rebuilt(self, weights: Weights, guest: int, chunk: Tensor) -> Tensor:
        return _rebuilt(weights, chunk, None if self._decodes else self._own[guest])

    def chunks(self, weights: Weights, values: Sequence[Tensor], masks: Tensor | None) -> Sequence[Tensor]:
        each = zip(*(value.chunk(self._parts.steps, 1) for value in values), strict=True)
        steps = [aggregated(step, self._how) for step in each]
        built = tabnet_stack.decoder(weights.below("top", "decoder"), steps, self._parts, last=False)
        return torch.split(built, chunk_sizes(self._parts.latent, len(self._own)), 1)

    def latent(self, weights: Weights, values: Sequence[Tensor]) -> tuple[Tensor, None]:
        return aggregated(values, self._how), None


def _rebuilt(weights: Weights, chunk: Tensor, whole: TabNetParts | None) -> Tensor:
    """By a guest's piece of the decoder's last layer, or by a whole decoder of these sizes."""
    rebuild = weights.below("rebuild")
    if whole is None:
        return tabnet_stack.linear(rebuild.below("rebuild"), chunk)
    return tabnet_stack.decoder(rebuild.below("decoder"), chunk.chunk(whole.steps, 1), whole, last=True)
