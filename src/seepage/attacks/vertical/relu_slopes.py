r"""The slopes of a perceptron with two layers of ReLU, and what they say of the row behind them.

With patterns :math:`D_1, D_2` of active neurons, the logit's weights :math:`v` and the error :math:`a = p - y`, one
person's slopes at the first layer are :math:`\delta = a\, D_1 W_2^\top D_2 v`. So they tell :math:`D_1` by their zeros;
:math:`D_2` and :math:`a` by toggling the pattern that a roughly known row predicts, until it fits; the label by the
sign of :math:`a`; and, because the logit is linear in the row once both patterns are known, one linear equation for it.
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
    """Weights at several moments, (..., outputs, inputs); ``v`` and ``b`` give the logit of the second class."""

    w1: Tensor
    c1: Tensor
    w2: Tensor
    c2: Tensor
    v: Tensor
    b: Tensor

    def at(self, places: Tensor) -> Net:
        """At these moments, in double precision."""
        return Net(*(each[places].double() for each in vars(self).values()))


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


def slopes(net: Net, rows: Tensor, labels: Tensor) -> Tensor:
    """(people, moments, neurons) of (people, inputs) rows with labels 0 or 1."""
    z1 = torch.einsum("pokd,pd->pok", net.w1, rows) + net.c1
    z2 = torch.einsum("pomk,pok->pom", net.w2, z1.relu()) + net.c2
    error = torch.sigmoid((net.v * z2.relu()).sum(2) + net.b) - labels[:, None]
    return torch.einsum("pom,pomk->pok", error[..., None] * net.v * (z2 > 0), net.w2) * (z1 > 0)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The second layer's pattern behind slopes (people, moments, neurons), the error of the output (people, moments),
    and the share of the slopes that they miss."""

    pattern: Tensor
    error: Tensor
    missing: Tensor


def decoded(net: Net, seen: Tensor, active: Tensor, rows: Tensor) -> Decoded:
    """Toggle the second layer's pattern that rows predict, one neuron after the other, until it gives the slopes."""
    z1 = (torch.einsum("pokd,pd->pok", net.w1, rows) + net.c1) * active  # this pattern is seen
    pattern = torch.einsum("pomk,pok->pom", net.w2, z1) + net.c2 > 0
    paths = net.w2 * active[:, :, None, :] * net.v[..., None]  # what each neuron adds, if it is active
    seen = seen * active
    size = seen.square().sum(2).clamp(min=1e-300)
    along, own = torch.einsum("pomk,pok->pom", paths, seen), paths.square().sum(3)
    made = torch.einsum("pomk,pom->pok", paths, pattern.double())
    for _ in range(TOGGLES):
        fit, norm = (seen * made).sum(2), made.square().sum(2).clamp(min=1e-300)
        missing = 1 - fit.square() / (norm * size)
        sign = 1 - 2 * pattern.double()
        norms = norm[..., None] + 2 * sign * torch.einsum("pomk,pok->pom", paths, made) + own
        after = 1 - (fit[..., None] + sign * along).square() / (norms.clamp(min=1e-300) * size[..., None])
        best = after.min(2)
        useful = (best.values < BETTER * missing) & (missing > FLOAT**2)
        if not bool(useful.any()):
            break
        chosen = torch.nn.functional.one_hot(best.indices, pattern.shape[2]).bool() & useful[..., None]
        made = made + torch.einsum("pomk,pom->pok", paths, chosen * sign)
        pattern = pattern ^ chosen
    fit, norm = (seen * made).sum(2), made.square().sum(2).clamp(min=1e-300)
    return Decoded(pattern, fit / norm, (1 - fit.square() / (norm * size)).clamp(min=0).sqrt())


def equations(net: Net, active: Tensor, found: Decoded, rows: Tensor, numbers: int) -> tuple[Tensor, Tensor, Tensor]:
    """One linear equation for the numbers of a row whose categories are known, from every moment.

    Returns:
        (people, moments, numbers) coefficients, (people, moments) right sides, and their precision (one over variance).
    """
    through = torch.einsum("pom,pomk->pok", net.v * found.pattern, net.w2) * active
    categories = torch.cat([torch.zeros_like(rows[:, :numbers]), rows[:, numbers:]], 1)
    rest = torch.einsum("pok,pok->po", through, torch.einsum("pokd,pd->pok", net.w1, categories) + net.c1)
    rest = rest + (net.v * found.pattern * net.c2).sum(2) + net.b
    share = torch.where(found.error < 0, 1 + found.error, found.error).clamp(1e-12, 1 - 1e-12)  # of the second class
    logit = share.log() - (1 - share).log()
    deviation = FLOAT / torch.minimum(share, 1 - share) + FLOAT
    return torch.einsum("pok,pokn->pon", through, net.w1[..., :numbers]), logit - rest, deviation**-2
