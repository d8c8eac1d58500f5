r"""Rows that explain together what all rounds sent, chosen out of a long list and moved until they fit.

Sliding Frank-Wolfe (Denoyelle et al., 2019) over a list that an optimiser makes:

1. *Weights* that are not negative are fitted to what was sent (non-negative least squares, with a second and third fit
   that prefers few atoms). Measurements are scaled between plain and white: plain, all rows look like their mean;
   white, an atom with a wrong number is as far as a stranger.
2. Atoms of equal categories and label become one row; its numbers are *refined* with the weights (Levenberg and
   Marquardt), and rows that differ in one category, and some in numbers, are new atoms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage.attacks.exact.settling import classes
from seepage.attacks.pursuit.atoms import TAKEN, Atoms, counted, joined, merged
from seepage.attacks.pursuit.measuring import Measurements

FITS = (400, 200, 200)  # steps of each fit
FEWER, LEAST = 2e-3, 0.15  # how much few atoms are preferred, and the weight from which on an atom is free
SPARE = 1.7  # rows that stay, for each that there is
STEPS, TRIES = 10, 6  # of each refinement, and how often a step is made shorter
NEIGHBOURS, MOVED, FAR = 4000, 20, 0.4  # new atoms; copies with other numbers, and how far off these are
STEP = 1e-4


@dataclass(frozen=True, eq=False)
class Target:
    """What was sent, in measurements that are scaled halfway to white.

    Args:
        measured: the measurements as they are.
        scaling: (products, products) what makes scaled ones of them.
        sent: (products,) scaled.
    """

    measured: Measurements
    scaling: Tensor
    sent: Tensor

    @staticmethod
    def of(measured: Measurements, plain: Tensor) -> Target:
        """Scaled by how many rows' measurements vary."""
        strengths, ways = torch.linalg.eigh(plain.T @ plain / len(plain))
        sizes = strengths.clamp(min=0).sqrt()
        scaling = ways / (sizes + 1e-6 * sizes[-1]).sqrt()
        return Target(measured, scaling, measured.sent @ scaling)

    def own(self, atoms: Atoms) -> Tensor:
        """(atoms, products) what each would send alone."""
        return self.measured.of_atoms(atoms) @ self.scaling

    def left(self, atoms: Atoms) -> Tensor:
        """(products,) what the atoms do not explain."""
        return self.sent - atoms.weights @ self.own(atoms)


def choose(
    measured: Measurements, atoms: Atoms, turns: int, drawn: torch.Generator, told: Callable[[int], None]
) -> tuple[Atoms, float]:
    """As many rows as there are, heaviest first; and the share of what was sent that all weighed ones leave.

    Args:
        measured: what was sent, and how rows are measured.
        atoms: the list to choose from.
        turns: how often new atoms are tried.
        told: called with each turn.
    """
    plain = measured.of_atoms(atoms)
    target = Target.of(measured, plain)
    atoms = replace(atoms, weights=fitted(plain @ target.scaling, target.sent, atoms.weights))
    rows = measured.view.total
    for turn in range(turns):
        told(turn)
        atoms = refined(target, merged(atoms).heaviest(int(SPARE * rows)))
        if turn < turns - 1:
            atoms = joined([atoms.at(atoms.weights > TAKEN), neighbours(target, atoms, drawn)])
            atoms = replace(atoms, weights=fitted(target.own(atoms), target.sent, atoms.weights))
    return counted(atoms, rows), float(target.left(atoms).norm() / target.sent.norm())


def fitted(atoms: Tensor, sent: Tensor, start: Tensor) -> Tensor:
    """Weights that are not negative, few, and add up to what was sent: accelerated gradient steps, begun again."""
    parts, wanted, weights = atoms.float(), sent.float(), start.float()
    rate = 1 / float(1.01 * torch.linalg.eigvalsh(parts.T @ parts)[-1])
    for number, steps in enumerate(FITS):
        dear = FEWER / (weights + LEAST) if number else torch.zeros(())
        ahead, pace = weights, 1.0
        for _ in range(steps):
            new = (ahead - rate * (parts @ (ahead @ parts - wanted) + dear)).clamp(min=0)
            if float(((ahead - new) * (new - weights)).sum()) > 0:  # it swings back: begin again
                ahead, pace = new, 1.0
            else:
                faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
                ahead, pace = new + (pace - 1) / faster * (new - weights), faster
            weights = new
    return weights.double()


def refined(target: Target, atoms: Atoms) -> Atoms:
    """Numbers and weights moved together until they fit (Levenberg and Marquardt)."""
    own, damping = target.own(atoms), 1e-2
    miss = atoms.weights @ own - target.sent
    for _ in range(STEPS):
        slope = torch.cat([own, *_slopes(target, atoms, own)])
        square, along = slope @ slope.T, slope @ miss
        for _ in range(TRIES):
            ridge = torch.diag(damping * square.diagonal() + 1e-12 * square.diagonal().max())
            tried = _moved(target, atoms, torch.linalg.solve(square + ridge, -along))
            there = target.own(tried)
            left = tried.weights @ there - target.sent
            if float(left.norm()) < float(miss.norm()):
                break
            damping *= 4
        else:
            return atoms
        atoms, own, miss, damping = tried, there, left, max(damping / 5, 1e-7)
    return atoms


def _slopes(target: Target, atoms: Atoms, own: Tensor) -> list[Tensor]:
    """What is sent, by each number of each atom."""
    found = []
    for move in STEP * torch.eye(target.measured.view.numeric).double():
        moved = replace(atoms, numbers=atoms.numbers + move)
        found.append((target.own(moved) - own) / STEP * atoms.weights[:, None])
    return found


def _moved(target: Target, atoms: Atoms, step: Tensor) -> Atoms:
    view, count = target.measured.view, len(atoms)
    moves = step[count:].reshape(view.numeric, count).T.clamp(-0.5, 0.5)
    return replace(
        atoms,
        weights=(atoms.weights + step[:count]).clamp(0, 3),
        numbers=(atoms.numbers + moves).clamp(view.low, view.high),
    )


def neighbours(target: Target, atoms: Atoms, drawn: torch.Generator) -> Atoms:
    """Rows that differ in one category, in the label or in numbers, and that explain most of what is left."""
    view, found = target.measured.view, []
    for column, allowed in enumerate(view.allowed):
        for choice in allowed.nonzero()[:, 0].tolist():
            other = atoms.at((atoms.codes[:, column] != choice).nonzero()[:, 0])
            codes = other.codes.clone()
            codes[:, column] = choice
            found.append(replace(other, codes=codes))
    for label in range(classes(view)):
        other = atoms.at((atoms.labels != label).nonzero()[:, 0])
        found.append(replace(other, labels=torch.full_like(other.labels, label)))
    copies = joined([atoms] * MOVED)
    moves = FAR * torch.randn(copies.numbers.shape, generator=drawn).double()
    moves = moves * (torch.rand(moves.shape, generator=drawn) < 0.5)
    found.append(replace(copies, numbers=(copies.numbers + moves).clamp(view.low, view.high)))
    every = joined(found)
    own = target.own(every)
    explains = own @ target.left(atoms) / own.norm(dim=1).clamp(min=1e-300)
    chosen = every.at(explains.argsort(descending=True)[:NEIGHBOURS])
    return replace(chosen, weights=torch.zeros(len(chosen)).double())
