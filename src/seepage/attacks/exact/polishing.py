"""All rows of all rounds moved together at the end, and how well what was sent says each of their numbers."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from seepage.attacks.exact.stacked import FITS, SHARP, STEP, Rounds, flat, whole
from seepage.attacks.exact.view import codes_of

DOUBTS = 10.0  # times a number's doubt
SEEN = 2.0  # times all that is left: what is larger would have been seen
TURNS = 2
SAME = 1e-6  # inputs that are no farther apart are one row, twice


def polished(rounds: Rounds) -> Rounds:
    """The rows with numbers that fit what was sent best; as they are if a row is missing, or if nothing is in doubt."""
    numeric, count = rounds.view.numeric, len(rounds.rows)
    if count != rounds.total or not numeric or (bool(rounds.sure.all()) and rounds.unexplained() < FITS):
        return rounds
    rows, known = rounds.rows, torch.zeros(count, dtype=torch.bool)
    for _ in range(TURNS):
        left = torch.cat([flat(each) for each in rounds.less(rows)])
        change, doubt = _fitted(rounds, rows, left)
        # A number that is still on its way is not known, however little is left.
        known = (DOUBTS * doubt + change.abs() < SHARP).all(1) & _together(rounds, rows, left)
        numbers = whole(rounds.view, rows[:, :numeric] + change.clamp(-0.1, 0.1))
        rows = torch.cat([numbers, rows[:, numeric:]], 1)
    # A row that was proven alone is right to that much already: a fit that moves it more makes up for a wrong row.
    held = rounds.sure & ((rows - rounds.rows).abs().amax(1) > SHARP)
    rows = torch.where(held[:, None], rounds.rows, rows)
    known = _unmixed(rounds, known)
    better = replace(rounds, rows=rows, left=tuple(rounds.less(rows)), settled=known)
    return better if better.unexplained() < rounds.unexplained() else replace(rounds, settled=known)


def _fitted(rounds: Rounds, rows: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, numeric) how each number changes to explain more, and how well it is known.

    The doubt is what each number may be off by if what is left is the error of every entry. Equal rows move as one.
    """
    numeric = rounds.view.numeric
    same = _same(rounds, rows)
    first = same.long().argmax(1)  # of each row's copies
    kept = torch.unique(first)
    moved = []
    for place in range(numeric):
        step = torch.zeros_like(rows)
        step[:, place] = STEP
        ends = (rows + step)[kept], (rows - step)[kept]
        ahead, behind = (rounds.own(end, rounds.labels[kept]) for end in ends)
        moved.append((ahead - behind) / (2 * STEP))
    copies = same.sum(1)[kept].repeat(numeric)
    slopes = torch.cat(moved) * copies[:, None]  # (numbers of different rows, all weights of all rounds)
    strengths, ways = torch.linalg.eigh(slopes @ slopes.T)
    clear = strengths > 1e-13 * strengths[-1]
    change = (ways[:, clear] / strengths[clear]) @ (ways[:, clear].T @ (slopes @ left))
    doubt = (ways.square() / strengths.clamp(min=1e-300)).sum(1).sqrt() * left.square().mean().sqrt()
    back = torch.searchsorted(kept, first)
    return change.reshape(numeric, -1).T[back], doubt.reshape(numeric, -1).T[back]


def _together(rounds: Rounds, rows: Tensor, left: Tensor) -> Tensor:
    """(rows,) whether copies of a row are sure to be copies: drawn apart by so little, they would be seen.

    Two rows on both sides of a third add up to twice the third but for the curvature of their gradients.
    """
    found = torch.ones(len(rows), dtype=torch.bool)
    apart = torch.zeros(rounds.view.numeric, rows.shape[1]).double()
    apart[:, : rounds.view.numeric] = SHARP * torch.eye(rounds.view.numeric)
    for row in (_same(rounds, rows).sum(1) > 1).nonzero()[:, 0].tolist():
        labels = rounds.labels[row].expand(len(apart))
        ahead, behind = rounds.own(rows[row] + apart, labels), rounds.own(rows[row] - apart, labels)
        bend = ahead + behind - 2 * rounds.own(rows[row : row + 1], labels[:1])
        found[row] = bool((bend.norm(dim=1) > SEEN * left.norm()).all())
    return found


def _unmixed(rounds: Rounds, known: Tensor) -> Tensor:
    """(rows,) which rows are known, and so are all that share their categories.

    Three people of a line can pass for one of them, moved a little, and two copies of the point between the others.
    """
    codes = codes_of(rounds.view.space.layout, rounds.rows)
    alike = (codes[:, None] == codes).all(2)
    shared: Tensor = ~(alike & ~known).any(1)
    return shared


def _same(rounds: Rounds, rows: Tensor) -> Tensor:
    """(rows, rows) which are copies of each other, with the same label."""
    near: Tensor = (torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist") < SAME) & (
        rounds.labels[:, None] == rounds.labels
    )
    return near
