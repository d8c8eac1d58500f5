"""When a row that was found in what is left of the second layer is a person's.

A row that lies in a batch's spans, with its slopes, is in the batch, or another is that can hardly be told from it.
Whose it is the batches say: it must show in several of the person's, nobody else may be in all of these, and it may be
missing in none where it would be seen. Its scale must be the model's own error for the row, with one label.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.vertical.hidden import Hidden, Members, hidden_layers, shown
from seepage.attacks.vertical.hidden_fit import Polished
from seepage.attacks.vertical.relu_slopes import Net

FEW = 3  # batches in which a row must show
FIT = 0.7  # share of them in which its scale must be the row's own,
ROUGHLY = 1e-2  # to this share, or three of its errors
TINY = 3e-7  # error of a probability in float32
LOUD = 1e4  # times rounding that a row adds to a batch which may not lack it
FINE = 1e-3  # deviation of every number, in inputs


@dataclass(frozen=True, eq=False)
class Judged:
    """(people,) which rows are proven, the labels that their scales say, and which rows are missing where they would
    be seen, so that they are not these people's."""

    certain: Tensor
    labels: Tensor
    refuted: Tensor


def judged(left: Hidden, net: Net, own: Members, where: Tensor, people: Tensor, found: Polished) -> Judged:
    """Which rows are proven.

    Args:
        own: the people whose rows are ``found``, in the batches of ``left``; ``where`` (batches, everyone) all others.
        people: (people,) their numbers in ``where``.
    """
    seen = shown(left, net, found.rows[own.people])
    shows = seen.shows & own.there

    def count(which: Tensor) -> Tensor:
        return torch.bincount(own.people[which], minlength=len(people))

    labels = (2 * count(shows & (seen.errors < 0)) > count(shows)).long()  # the error is negative where it is 1
    errors = hidden_layers(net, found.rows[own.people]).answers - labels[own.people]
    near = seen.relative.mul(3).clamp(min=ROUGHLY) * errors.abs() + TINY
    fits = shows & ((seen.errors - errors).abs() < near)
    missed = own.there & seen.lacks & (errors.abs() * seen.loud > LOUD)
    batches, slots = fits.nonzero(as_tuple=True)
    together = torch.zeros(len(people), len(left))
    together[own.people[batches, slots], batches] = 1
    shared = together @ where[: len(left)].float()
    shared[torch.arange(len(people)), people] = 0
    fitting, refuted = count(fits), count(missed) > 0
    certain = (fitting >= FEW) & (fitting >= FIT * count(shows)) & (shared.amax(1) < fitting) & ~refuted
    return Judged(certain & (found.deviation < FINE).all(1), labels, refuted)
