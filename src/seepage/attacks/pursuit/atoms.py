"""Atoms: rows that may be there, with labels and how often they seem to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

TAKEN = 0.02  # weight of an atom that stays
TWICE = 1.5  # weight from which on an atom stands for several rows


@dataclass(frozen=True, eq=False)
class Atoms:
    """Rows with labels and weights.

    Args:
        codes, numbers, labels: of each.
        weights: how often each is there.
    """

    codes: Tensor
    numbers: Tensor
    labels: Tensor
    weights: Tensor

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, places: Tensor) -> Atoms:
        """Some of them."""
        return Atoms(self.codes[places], self.numbers[places], self.labels[places], self.weights[places])

    def heaviest(self, count: int) -> Atoms:
        """Those with most weight."""
        return self.at(self.weights.argsort(descending=True)[:count])


def joined(parts: Sequence[Atoms]) -> Atoms:
    """All atoms of several lists."""
    names = ("codes", "numbers", "labels", "weights")
    return Atoms(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def labelled(codes: Tensor, numbers: Tensor, labels: int) -> Atoms:
    """Each row with each label, none of them weighed yet."""
    count = len(codes)
    every = torch.arange(labels).double().repeat_interleave(count)
    return Atoms(codes.repeat(labels, 1), numbers.repeat(labels, 1), every, torch.zeros(count * labels).double())


def merged(atoms: Atoms) -> Atoms:
    """Atoms of equal categories and label as one; as several, where their weight says that there are."""
    kept = atoms.at(atoms.weights > TAKEN)
    keys = torch.cat([kept.codes, kept.labels.long()[:, None]], 1)
    found: list[Atoms] = [kept.at(torch.zeros(0, dtype=torch.long))]
    _, places = torch.unique(keys, dim=0, return_inverse=True)
    for group in range(int(places.max()) + 1 if len(places) else 0):
        alike = kept.at((places == group).nonzero()[:, 0])
        total = alike.weights.sum()
        several = round(float(total)) if total > TWICE else 1
        if several == 1:
            mean = (alike.weights[:, None] * alike.numbers).sum(0, keepdim=True) / total
            found.append(Atoms(alike.codes[:1], mean, alike.labels[:1], total[None]))
        else:
            few = alike.heaviest(several)
            found.append(replace(few, weights=(total / len(few)).expand(len(few))))
    return joined(found)


def counted(atoms: Atoms, many: int) -> Atoms:
    """As many rows as there are, heaviest first; those with a weight of two, twice."""
    times = atoms.weights.round().clamp(min=1).long()
    places = torch.arange(len(atoms)).repeat_interleave(times)
    each = (atoms.weights / times)[places]
    return atoms.at(places[each.argsort(descending=True)[:many]])
