r"""What is left of the second layer's gradients when people who were read are taken away, and whom it spans.

A batch's gradient of the second layer, weights and bias side by side, is :math:`A = \sum_i u_i (h_i, 1)^\top`, where
:math:`h_i` is what the first layer makes of a row and :math:`u_i` are its slopes behind it. While everybody is in it,
it spans whatever the active neurons can be. When half of a batch is read and taken away, it has fewer directions than
active neurons, and everyone who is left lies in them: :math:`(h_i, 1)` in its rows and :math:`u_i` in its columns,
which dozens of equations say for a single row, whatever the others are. Where both are independent,
:math:`(h_i, 1)^\top A^+ u_i = 1` (Wedderburn), which is the scale of :math:`u_i`, so the error of the model's output.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.vertical.relu_slopes import Net

ROUNDING = 2e-7  # of a whole gradient: what is left below it is float32's rounding
SPARE = 6  # equations in the rows, and in the columns, that a batch must have for a person to show in it
NEAR = 3e-3  # share of a row, or of its slopes, that may lie outside; of others a tenth does and more
FAR = 0.02  # share of a row outside that says that it is not in a batch
SHAKEN = 30.0  # times the typical rounding that a row may lie outside
TYPICAL = 0.1  # of the largest singular value of rounding: what it is in one direction
FLOAT = 1e-6  # relative error of a scale in float32


@dataclass(frozen=True, eq=False)
class Members:
    """Who of some people is in which batch, filled up to the fullest: (batches, most)."""

    people: Tensor
    there: Tensor

    @staticmethod
    def of(members: Tensor) -> Members:
        """Of (batches, people)."""
        most = max(int(members.sum(1).max()), 1) if len(members) else 1
        there, people = members.to(torch.uint8).topk(most, 1)
        return Members(people, there > 0)


@dataclass(frozen=True, eq=False)
class Hidden:
    """What is left of the second layer's gradients, as singular vectors; those of rounding are zero.

    Args:
        inputs: (batches, rank, neurons + 1) which the batch's rows span.
        outputs: (batches, rank, neurons behind) which their slopes span.
        inverse: (batches, rank) of the singular values.
        noise: (batches,) the largest singular value that is rounding.
        spare: (batches,) directions that whole gradients have, and these lack.
    """

    inputs: Tensor
    outputs: Tensor
    inverse: Tensor
    noise: Tensor
    spare: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def at(self, batches: Tensor) -> Hidden:
        """Some of them."""
        return Hidden(*(each[batches] for each in vars(self).values()))


class SecondLayer:
    """The second layer's gradients of the first batches.

    Args:
        whole: (batches, neurons behind, neurons + 1), the sums over the batch, double.
        net: the weights, of these batches.
    """

    def __init__(self, whole: Tensor, net: Net) -> None:
        self.whole, self.net = whole, net
        values = torch.linalg.svdvals(whole)
        self._largest, self._rank = values[:, 0], (values > ROUNDING * values[:, :1]).sum(1)

    def without(self, rows: Tensor, labels: Tensor, read: Tensor, unread: Tensor) -> Hidden:
        """What is left without people who are read.

        Args:
            rows: (people, inputs) of those who are read; ``labels`` (people,).
            read: (batches, people) who of them is in a batch; ``unread`` (batches,) how many others.
        """
        gone = Members.of(read)
        layers = hidden_layers(self.net, rows[gone.people])
        slopes = layers.slopes * ((layers.answers - labels[gone.people]) * gone.there)[..., None]
        left = self.whole - torch.bmm(slopes.transpose(1, 2), layers.inputs)
        outputs, values, inputs = torch.linalg.svd(left, full_matrices=False)
        floor = ROUNDING * self._largest
        kept = (values > floor[:, None]) & (torch.arange(values.shape[1]) < unread[:, None])
        most = max(int(kept.sum(1).max()), 1)
        noise = torch.where(kept, 0.0, values).amax(1).clamp(min=0.1 * floor)
        kept, values = kept[:, :most], values[:, :most]
        inverse = torch.where(kept, 1 / values.clamp(min=1e-300), 0.0)
        own = outputs.transpose(1, 2)[:, :most] * kept[..., None]
        return Hidden(inputs[:, :most] * kept[..., None], own, inverse, noise, self._rank - kept.sum(1))


@dataclass(frozen=True, eq=False)
class HiddenLayers:
    """What rows (batches, rows, inputs) do around the second layer: ``inputs`` (h, 1), ``slopes`` behind it of an error
    of 1, and ``answers``, the probability of the second class."""

    inputs: Tensor
    slopes: Tensor
    answers: Tensor


def hidden_layers(net: Net, rows: Tensor) -> HiddenLayers:
    """Of rows (batches, rows, inputs)."""
    h = (torch.bmm(rows, net.w1.transpose(1, 2)) + net.c1[:, None]).relu()
    z = torch.bmm(h, net.w2.transpose(1, 2)) + net.c2[:, None]
    answers = (torch.bmm(z.relu(), net.v[:, :, None])[:, :, 0] + net.b[:, None]).sigmoid()
    inputs = torch.cat([h, torch.ones_like(h[..., :1])], 2)
    return HiddenLayers(inputs, (z > 0) * net.v[:, None], answers)


@dataclass(frozen=True, eq=False)
class Shown:
    """Whether rows show in what is left, (batches, rows).

    Args:
        shows: the row lies in it, and its slopes do, as far as rounding lets one see.
        lacks: the row lies far outside.
        errors: of the output there; ``relative`` is how well they are known.
        loud: how far what an error of 1 adds is above rounding.
    """

    shows: Tensor
    lacks: Tensor
    errors: Tensor
    relative: Tensor
    loud: Tensor


def shown(left: Hidden, net: Net, rows: Tensor) -> Shown:
    """Whether (batches, rows, inputs) lie in what is left of each batch, with their slopes, and with which scale."""
    layers = hidden_layers(net, rows)
    inside, slopes = _inside(layers.inputs, left.inputs, left), _inside(layers.slopes, left.outputs, left)
    product = (inside.through * slopes.along).sum(2)
    scale = 1 / torch.where(product == 0, torch.inf, product)
    off = TYPICAL * left.noise[:, None] * inside.through.norm(dim=2) * slopes.through.norm(dim=2) * scale.abs() + FLOAT
    fits = (inside.outside < inside.tolerance) & (slopes.outside < slopes.tolerance) & (scale != 0)
    told = (left.spare > SPARE)[:, None]
    loud = layers.inputs.norm(dim=2) * layers.slopes.norm(dim=2) / left.noise[:, None]
    return Shown(fits & told, (inside.outside > FAR) & (slopes.outside > FAR) & told, scale, off, loud)


@dataclass(frozen=True, eq=False)
class _Inside:
    """How far vectors lie outside of a span, beside their size; how far rounding may move them; their coefficients
    ``along`` the basis, and ``through`` the inverse of the singular values."""

    outside: Tensor
    tolerance: Tensor
    along: Tensor
    through: Tensor


def _inside(vectors: Tensor, basis: Tensor, left: Hidden) -> _Inside:
    """Of (batches, rows, size) vectors."""
    along = torch.bmm(vectors, basis.transpose(1, 2))
    through, size = along * left.inverse[:, None], vectors.norm(dim=2).clamp(min=1e-300)
    outside = (vectors - torch.bmm(along, basis)).norm(dim=2) / size
    rounding = TYPICAL * left.noise[:, None] * through.norm(dim=2) / size + FLOAT
    return _Inside(outside, (SHAKEN * rounding).clamp(max=NEAR), along, through)
