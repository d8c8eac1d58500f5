r"""Find people's rows in what is left of the second layer: those that lie in all spans of their own batches.

Each person's row is a search of its own, from a blank start: categories by softmax among those that occur in all of
the person's batches, and a loss of the logarithm of the distance to every span, so that a batch in which the model was
sure of the person, and which so lacks the row, does not lead. All people are searched for at once. Afterwards the
categories stand, and a Gauss-Newton step finds the numbers, since the first layer is linear on each side of its planes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from seepage.attacks.vertical.hidden import FLOAT, TYPICAL, Hidden, Members, shown
from seepage.attacks.vertical.relu_slopes import Net
from seepage.data import Layout

RATE, LAST = 0.15, 0.003  # of the descent, which falls from one to the other
SPREAD = 1.0, 0.5  # of the first logits, and of the first numbers
COARSE, FINE = 1e-2, 1e-6  # squared distances that count as none, from the first step to the last
RAMP = 0.8  # share of the steps after which they are as fine as they become
UNUSUAL = -30.0  # logarithm of what cannot be
TRUSTED = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)  # distances up to which a batch leads the numbers
AT_ONCE = 64  # batches
RIDGE = 1e-9
LOOSE = 1e-3  # precision of numbers of which nothing is known


def fitted(
    left: Hidden, net: Net, members: Members, usual: Tensor, layout: Layout, steps: int, start: Tensor
) -> Tensor:
    """Rows whose categories lie in the spans, and roughly their numbers.

    Args:
        net: the weights of the same batches.
        members: who of the people is in which batch.
        usual: (people, categories) logarithms of how usual they are; -inf for what a person cannot have.
        start: (people, inputs) normal numbers.

    Returns:
        (people, inputs).
    """
    prior, basis = usual.float().clamp(min=UNUSUAL), left.inputs.float()
    logits = (SPREAD[0] * start[:, layout.numeric :].float()).requires_grad_()
    numbers = (SPREAD[1] * start[:, : layout.numeric].float()).requires_grad_()
    adam = torch.optim.Adam([logits, numbers], lr=RATE)
    across, bias, there = net.w1.float().transpose(1, 2), net.c1.float()[:, None], members.there.float()
    one = torch.ones(*members.people.shape, 1)
    for step in range(steps):
        nothing = COARSE * (FINE / COARSE) ** min(1.0, step / (RAMP * steps))
        adam.param_groups[0]["lr"] = RATE * (1 - step / steps) + LAST
        blocks = [block.softmax(1) for block in torch.split(logits + prior, list(layout.sizes), 1)]
        h = (torch.bmm(torch.cat([numbers, *blocks], 1)[members.people], across) + bias).relu()
        h = torch.cat([h, one], 2)
        size = h.square().sum(2)
        outside = 1 - torch.bmm(h, basis.transpose(1, 2)).square().sum(2) / size
        loss = ((outside.clamp(min=0) + nothing).log() * there).sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
    said = torch.split(logits.detach() + prior, list(layout.sizes), 1)
    onehot = [functional.one_hot(block.argmax(1), block.shape[1]) for block in said]
    return torch.cat([numbers.detach(), *onehot], 1).double()


@dataclass(frozen=True, eq=False)
class Polished:
    """Rows (people, inputs) with the numbers that their spans say.

    Args:
        covariance: (people, numbers, numbers) by the rounding of the spans in which a row shows.
        misfit: (people,) squares of what is left outside of them, over those that rounding leaves.
    """

    rows: Tensor
    covariance: Tensor
    misfit: Tensor

    @property
    def deviation(self) -> Tensor:
        """(people, numbers) of each number, larger where more is left outside than rounding leaves."""
        own = self.covariance.diagonal(dim1=1, dim2=2).clamp(min=0)
        return (own * self.misfit.clamp(min=1)[:, None]).sqrt()


def polished(left: Hidden, net: Net, members: Members, rows: Tensor, numeric: int) -> Polished:
    """Find the numbers that lie nearest to the spans, by Gauss-Newton; far spans count ever less."""
    for trusted in TRUSTED:
        normal, right, _ = _equations(left, net, members, rows, numeric, trusted)
        rows = _moved(rows, normal, right, numeric)
    for _ in range(2):
        normal, right, misfit = _equations(left, net, members, rows, numeric, None)
        rows = _moved(rows, normal, right, numeric)
    few = LOOSE * torch.eye(numeric, dtype=rows.dtype)
    return Polished(rows, torch.linalg.inv(normal + few), misfit)


def _moved(rows: Tensor, normal: Tensor, right: Tensor, numeric: int) -> Tensor:
    few = RIDGE * normal.diagonal(dim1=1, dim2=2).sum(1).clamp(min=1)[:, None, None]
    step = torch.linalg.solve(normal + few * torch.eye(numeric, dtype=rows.dtype), right)
    return torch.cat([rows[:, :numeric] - step.clamp(-1, 1), rows[:, numeric:]], 1)


def _equations(
    left: Hidden, net: Net, members: Members, rows: Tensor, numeric: int, trusted: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Normal equations of everybody's numbers.

    Args:
        trusted: the distance up to which a span counts; without it those in which a row shows, each by its rounding.
    """
    normal = torch.zeros(len(rows), numeric, numeric, dtype=rows.dtype)
    right = torch.zeros(len(rows), numeric, dtype=rows.dtype)
    squares, equations = torch.zeros(len(rows), dtype=rows.dtype), torch.zeros(len(rows), dtype=rows.dtype)
    for begin in range(0, len(left), AT_ONCE):
        moments = torch.arange(begin, min(begin + AT_ONCE, len(left)))
        people, there, own, weights = members.people[moments], members.there[moments], left.at(moments), net.at(moments)
        z = torch.bmm(rows[people], weights.w1.transpose(1, 2)) + weights.c1[:, None]
        h = torch.cat([z.relu(), torch.ones_like(z[..., :1])], 2)
        along = torch.bmm(h, own.inputs.transpose(1, 2))
        off = h - torch.bmm(along, own.inputs)
        size = h.norm(dim=2)
        if trusted is None:
            there = there & shown(own, weights, rows[people]).shows
            rounding = TYPICAL * own.noise[:, None] * (along * own.inverse[:, None]).norm(dim=2) + FLOAT * size
            weight = there / rounding.square()
        else:
            weight = there / (off.square().sum(2) + (trusted * size).square())
        bend = (z > 0)[..., None] * weights.w1[:, None, :, :numeric]  # (batches, most, neurons, numbers)
        inside = torch.einsum("brk,bpkn->bprn", own.inputs[:, :, :-1], bend)
        # What is off is at a right angle to the span, so only the change itself is multiplied by it.
        among = torch.einsum("bpkn,bpkm->bpnm", bend, bend) - torch.einsum("bprn,bprm->bpnm", inside, inside)
        slopes = torch.einsum("bpkn,bpk->bpn", bend, off[..., :-1])
        who = people.flatten()
        normal.index_add_(0, who, (weight[..., None, None] * among).flatten(0, 1))
        right.index_add_(0, who, (weight[..., None] * slopes).flatten(0, 1))
        squares.index_add_(0, who, (weight * off.square().sum(2)).flatten())
        equations.index_add_(0, who, (there * own.spare[:, None]).flatten().to(rows.dtype))
    return normal, right, squares / equations.clamp(min=1)
