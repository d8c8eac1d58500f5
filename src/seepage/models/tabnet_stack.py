"""The parts of TabNet for many models of one shape at once: the same functions as ``pytorch-tabnet``'s modules.

One step of one such model spends its time between operations: 128 rows and layers of ten columns. Here every tensor has
a leading axis of models, and rows come last, (models, columns, rows), so that BatchNorm of all models is one call of
torch's and a layer is one product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from seepage.models.tabnet_split import TabNetParts

EPSILON = 1e-15  # of the attention's entropy, as pytorch-tabnet has it
HALF = float(torch.tensor(0.5, dtype=torch.float32).sqrt())  # in float32, as pytorch-tabnet has it
FIRST = 0.01  # momentum of the BatchNorm before everything else, as pytorch-tabnet has it


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of many models, by their names in one model.

    Args:
        tensors: (models, ...) each.
        at: what all names begin with.
        learning: BatchNorm takes the batch's statistics and moves the running ones.
    """

    tensors: Mapping[str, Tensor]
    learning: bool
    at: str = ""

    def below(self, *names: object) -> Weights:
        """Those of a part."""
        return Weights(self.tensors, self.learning, self.at + "".join(f"{name}." for name in names))

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[self.at + name]


def names_of(module: nn.Module) -> dict[str, str]:
    """By every name that a tensor has, the one name that stands for it: layers that blocks share have several."""
    first: dict[int, str] = {}
    tensors = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {name: first.setdefault(id(tensor), name) for name, tensor in tensors}


def linear(weights: Weights, x: Tensor) -> Tensor:
    """(models, out, rows) of (models, in, rows), without bias."""
    return torch.bmm(weights["weight"], x)


def norm(weights: Weights, x: Tensor, momentum: float) -> Tensor:
    """BatchNorm of every column of every model over the rows."""
    models, columns, rows = x.shape
    normed = functional.batch_norm(
        x.reshape(1, models * columns, rows),
        weights["running_mean"].view(-1),
        weights["running_var"].view(-1),
        weights["weight"].reshape(-1),
        weights["bias"].reshape(-1),
        weights.learning,
        momentum,
    )
    if weights.learning:
        weights["num_batches_tracked"].add_(1)
    return normed.view(models, columns, rows)


def ghost_norm(weights: Weights, x: Tensor, parts: TabNetParts) -> Tensor:
    """BatchNorm over pieces of a batch."""
    inner = weights.below("bn")
    pieces = x.chunk(math.ceil(x.shape[2] / parts.virtual_batch), 2)
    if len(pieces) == 1:
        return norm(inner, x, parts.momentum)
    return torch.cat([norm(inner, piece, parts.momentum) for piece in pieces], 2)


def bottom(weights: Weights, x: Tensor, *, mixed: bool) -> Tensor:
    """:class:`~seepage.models.tabnet_split.Bottom`."""
    normed = norm(weights.below("norm"), x, FIRST)
    return linear(weights.below("mix"), normed) if mixed else normed


def encoder(
    weights: Weights, x: Tensor, prior: Tensor | None, parts: TabNetParts, *, first: bool, sparsity: bool
) -> tuple[list[Tensor], Tensor]:
    """Outputs of the decision steps, (models, latent, rows) each, and (models,) the sparsity of the attention.

    Args:
        prior: (models, columns, rows) how freely a column may be used; None: all alike.
        first: it begins with a BatchNorm of its own.
        sparsity: whether that is asked for; else it is zero.
    """
    if first:
        x = norm(weights.below("initial_bn"), x, FIRST)
    depth = (parts.shared, parts.independent)
    seen = _features(weights.below("initial_splitter"), x, depth, parts)[:, parts.latent :]
    entropy = x.new_zeros(len(x))
    outputs = []
    for step in range(parts.steps):
        attention = weights.below("att_transformers", step)
        scores = ghost_norm(attention.below("bn"), linear(attention.below("fc"), seen), parts)
        mask = sparsemax(scores if prior is None else scores * prior)
        if sparsity:
            entropy = entropy + (mask * torch.log(mask + EPSILON)).sum(1).mean(1)
        left = parts.gamma - mask
        prior = left if prior is None else left * prior
        out = _features(weights.below("feat_transformers", step), mask * x, depth, parts)
        outputs.append(out[:, : parts.latent].relu())
        seen = out[:, parts.latent :]
    return outputs, entropy / parts.steps


def decoder(weights: Weights, steps: Sequence[Tensor], parts: TabNetParts, *, last: bool) -> Tensor:
    """What is rebuilt from the decision steps; ``last`` says whether the last layer is here, too."""
    depth = (parts.decoder_shared, parts.decoder_independent)
    built = [
        _features(weights.below("feat_transformers", place), step, depth, parts) for place, step in enumerate(steps)
    ]
    total = torch.stack(built).sum(0) if len(built) > 1 else built[0]
    return linear(weights.below("reconstruction_layer"), total) if last else total


def _features(weights: Weights, x: Tensor, depth: tuple[int, int], parts: TabNetParts) -> Tensor:
    """A feature transformer: layers that all steps share, then its own."""
    first = True  # the first layer of all has nothing to be added to
    for block, count in zip(("shared", "specifics"), depth, strict=True):
        for layer in range(count):
            out = _gated(weights.below(block, "glu_layers", layer), x, parts)
            x = out if first else (x + out) * HALF
            first = False
    return x


def _gated(weights: Weights, x: Tensor, parts: TabNetParts) -> Tensor:
    """A gated linear unit."""
    return functional.glu(ghost_norm(weights.below("bn"), linear(weights.below("fc"), x), parts), 1)


def sparsemax(scores: Tensor) -> Tensor:
    """Every row's columns, (models, columns, rows), projected on the probability simplex."""
    mask: Tensor = _Sparsemax.apply(scores)  # type: ignore[no-untyped-call]
    return mask


class _Sparsemax(torch.autograd.Function):
    """The projection, and its derivative (Martins and Astudillo, 2016)."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, scores: Tensor) -> Tensor:
        x = scores.detach().transpose(1, 2).contiguous()  # (models, rows, columns)
        # numpy's sort of values is many times as fast as torch's, which also finds where each came from.
        ordered = torch.from_numpy(np.sort(x.numpy(), axis=2)).flip(2)
        above = ordered.cumsum(2) - 1
        ranks = torch.arange(1, x.shape[2] + 1, dtype=x.dtype)
        support = (ranks * ordered > above).sum(2, keepdim=True).clamp(min=1)  # not a number must stay one
        threshold = above.gather(2, support - 1) / support.to(x.dtype)
        mask = (scores - threshold.transpose(1, 2)).clamp(min=0)
        ctx.save_for_backward(mask, support.to(x.dtype).transpose(1, 2))
        return mask

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> Tensor:
        mask, support = ctx.saved_tensors  # type: ignore[attr-defined]
        used = (mask > 0).to(gradient.dtype)
        kept: Tensor = gradient * used
        given: Tensor = kept - used * (kept.sum(1, keepdim=True) / support)
        return given
