r"""The slopes of a perceptron with two layers of ReLU, and what they say of the row behind them.

With patterns :math:`D_1, D_2` of active neurons, the logit's weights :math:`v` and the error :math:`a = p - y`, one
person's slopes at the first layer are :math:`\delta = a\, D_1 W_2^\top D_2 v`. So they tell :math:`D_1` by their zeros;
:math:`D_2` and :math:`a` by toggling the pattern that a roughly known row predicts, until it fits; the label by the
sign of :math:`a`; and one linear equation for the row, since the logit is linear in it where no neuron changes sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seepage.models import Learner, Parameters
from seepage.models.mlp_passes import chain_of

TOGGLES = 12  # neurons of the second layer that a rough row may have wrong
BETTER = 0.98  # of what is missing may be left after a toggle
FLOAT = 3e-6  # relative error of slopes in float32 sums


@dataclass(frozen=True, eq=False)
class Net:
    """Weights at several moments, (moments, outputs, inputs); ``v`` and ``b`` give the logit of the second class."""

    w1: Tensor
    c1: Tensor
    w2: Tensor
    c2: Tensor
    v: Tensor
    b: Tensor

    def at(self, places: Tensor) -> Net:
        """At these moments."""
        return Net(*(each[places] for each in vars(self).values()))

    def double(self) -> Net:
        """In double precision."""
        return Net(*(each.double() for each in vars(self).values()))


def layers_of(learner: Learner) -> tuple[str, str, str] | None:
    """The names of the three linear layers; None for another net than linear, ReLU, linear, ReLU, linear."""
    chain = chain_of(learner.module)
    kinds = [type(layer) for _, layer in chain]
    if kinds != [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear] or learner.task != "binary":
        return None
    names = [name for name, layer in chain if isinstance(layer, nn.Linear)]
    return names[0], names[1], names[2]


def net_of(parameters: Parameters, layers: tuple[str, str, str]) -> Net:
    """The weights of one moment."""
    first, second, last = ((parameters[f"{name}.weight"], parameters[f"{name}.bias"]) for name in layers)
    v, b = (each[1] - each[0] if len(each) == 2 else each[0] for each in last)
    return Net(*first, *second, v, b)


def stacked(every: Sequence[Net]) -> Net:
    """Several moments as one, with a new first dimension."""
    return Net(*(torch.stack(same) for same in zip(*(vars(each).values() for each in every), strict=True)))


def passes(net: Net, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What rows (moments, rows, inputs) do in a net.

    Where no neuron changes sides the logit is linear in the row, and the path is its derivative before the first layer.

    Returns:
        (moments, rows) logits, (moments, rows, neurons) paths, which are the slopes of an error of 1, and (moments,
        rows, neurons) sides of both layers' planes: 1 for active, -1 for at rest.
    """
    z1 = torch.bmm(rows, net.w1.transpose(1, 2)) + net.c1[:, None]
    z2 = torch.bmm(z1.relu(), net.w2.transpose(1, 2)) + net.c2[:, None]
    logits = torch.bmm(z2.relu(), net.v[:, :, None])[:, :, 0] + net.b[:, None]
    paths = torch.bmm((z2 > 0) * net.v[:, None], net.w2) * (z1 > 0)
    return logits, paths, torch.where(torch.cat([z1, z2], 2) > 0, 1.0, -1.0).to(torch.int8)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The second layer's pattern behind slopes (columns, neurons), the error of the output (columns,), and the share of
    the slopes that they miss."""

    pattern: Tensor
    error: Tensor
    missing: Tensor


def decoded(net: Net, seen: Tensor, active: Tensor, rows: Tensor) -> Decoded:
    """Toggle the second layer's pattern that rows predict, one neuron after the other, until it gives the slopes.

    Args:
        net: the weights of each column's moment.
        seen: (columns, neurons) slopes; ``active`` says which are not zero.
        rows: (columns, inputs) roughly.
    """
    z1 = (torch.einsum("nkd,nd->nk", net.w1, rows) + net.c1) * active  # this pattern is seen
    pattern = torch.einsum("nmk,nk->nm", net.w2, z1) + net.c2 > 0
    paths = net.w2 * active[:, None] * net.v[..., None]  # what each neuron adds, if it is active
    seen = seen * active
    size = seen.square().sum(1).clamp(min=1e-300)
    among = torch.bmm(paths, paths.transpose(1, 2))
    along, own = torch.einsum("nmk,nk->nm", paths, seen), among.diagonal(dim1=1, dim2=2)
    chosen = pattern.to(seen.dtype)
    across = torch.einsum("nml,nl->nm", among, chosen)  # of every neuron's path, with all that are active
    fit, norm = (along * chosen).sum(1), (across * chosen).sum(1)
    for _ in range(TOGGLES):
        missing = 1 - fit.square() / (norm.clamp(min=1e-300) * size)
        sign = 1 - 2 * pattern.to(seen.dtype)
        fits, norms = fit[:, None] + sign * along, norm[:, None] + 2 * sign * across + own
        after = (1 - fits.square() / (norms.clamp(min=1e-300) * size[:, None])).min(1)
        useful = (after.values < BETTER * missing) & (missing > FLOAT**2)
        if not bool(useful.any()):
            break
        best = after.indices[:, None]
        step = sign.gather(1, best) * useful[:, None]
        fit = torch.where(useful, fits.gather(1, best)[:, 0], fit)
        norm = torch.where(useful, norms.gather(1, best)[:, 0], norm)
        across = across + step * among.gather(1, best[:, :, None].expand(-1, -1, among.shape[2]))[:, 0]
        pattern = pattern.scatter(1, best, pattern.gather(1, best) ^ useful[:, None])
    missing = (1 - fit.square() / (norm.clamp(min=1e-300) * size)).clamp(min=0).sqrt()
    return Decoded(pattern, fit / norm.clamp(min=1e-300), missing)
