r"""Valid rows of a span, and which of them are records: slopes over all rounds settle the numbers that are open.

**When a row is proven alone.** Its slopes over all rounds lie in the column space of what is stacked, its inputs in the
row space, both up to what rounding explains, and :math:`v^\top A^+ u = 1`: then taking the row away takes one dimension
away (Wedderburn), in all rounds at once. There are at least ``SPARE`` equations more than open numbers, and these
equations say each open number to a hundredth of a deviation. A weight of 1/2 is not enough: two rows that differ in one
number only look like two copies of the row between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from seepage.attacks.exact.search import Leaves
from seepage.attacks.exact.stacked import SHARP, STEP, Rounds, whole
from seepage.attacks.exact.view import View

AT_ONCE = 4_000  # rows whose slopes are computed together
WEIGHT = 0.02  # how far a record's weight may be from 1
STRICT = 8.0  # times what the error explains: a row that is farther is not proven
LONGEST = 1.5  # of a step along an open number, in deviations
SHORTLIST, FINE = 2_000, 6  # candidates that come near, and steps for these
SPARE = 4  # equations beyond the open numbers, at least
PRECISE = 0.02  # deviations within which a certified number is right
STAGES = ((2, 20_000), (4, SHORTLIST))  # steps for all of very many candidates, and for many; how many go on


class Found(NamedTuple):
    """Records, as inputs, with their labels, and which of them are proven alone."""

    rows: Tensor
    labels: Tensor
    sure: Tensor


@dataclass(frozen=True, eq=False)
class Candidates:
    """Valid rows of a span, with each label that they can have.

    Args:
        codes, numbers, labels: of each; numbers are in the middle of what is open.
        family: (open, numeric) orthonormal directions that are open.
    """

    codes: Tensor
    numbers: Tensor
    labels: Tensor
    family: Tensor

    @staticmethod
    def of(rounds: Rounds, leaves: Leaves) -> Candidates:
        """All leaves that can be inside their ranges."""
        view = rounds.view
        family = torch.linalg.qr(leaves.family.T)[0].T if leaves.free else leaves.family
        numbers = leaves.numbers - (leaves.numbers @ family.T) @ family
        numbers = _towards(view, numbers, family)
        near = inside(view, numbers)
        codes, numbers = leaves.codes[near], numbers[near]
        labels = torch.arange(classes(view)).double()
        return Candidates(
            codes.repeat(len(labels), 1),
            numbers.repeat(len(labels), 1),
            labels.repeat_interleave(len(codes)),
            family,
        )

    def settled(self, rounds: Rounds, start: int, drawn: torch.Generator, most: float) -> Found | None:
        """Records among them, with their labels, after their open numbers were settled from one start."""
        view, count = rounds.view, len(self.codes)
        if not count:
            return None
        numbers, chosen = self.numbers, torch.arange(count)
        if start:
            numbers = numbers + torch.randn(count, len(self.family), generator=drawn).double() @ self.family
            numbers = _towards(view, numbers, self.family)
        for steps, most_left in STAGES if len(self.family) else ():
            if len(chosen) > most_left or most_left == SHORTLIST:
                numbers = self._stepped(rounds, numbers, chosen, steps)
            if len(chosen) > most_left:
                nearest = self._misses(rounds, numbers, chosen).argsort()[:most_left]
                numbers, chosen = numbers[nearest], chosen[nearest]
        if len(self.family):
            numbers = self._stepped(rounds, numbers, chosen, FINE)
        return self._records(rounds, numbers, chosen, most)

    def _stepped(self, rounds: Rounds, numbers: Tensor, chosen: Tensor, steps: int) -> Tensor:
        """Gauss-Newton along the open numbers, every candidate by itself."""
        view, parts = rounds.view, []
        few = STEP * torch.eye(len(self.family), dtype=torch.float64)
        for here, own in zip(torch.split(numbers, AT_ONCE), torch.split(chosen, AT_ONCE), strict=True):
            for _ in range(steps):
                miss, slope = self._slope(rounds, here, own)
                square = slope.transpose(1, 2) @ slope + few
                step = torch.linalg.solve(square, -(slope.transpose(1, 2) @ miss[:, :, None]))[:, :, 0]
                here = here + step.clamp(-LONGEST, LONGEST) @ self.family
                here = here.clamp(view.low - 0.01, view.high + 0.01)
            parts.append(here)
        return torch.cat(parts)

    def _slope(self, rounds: Rounds, numbers: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """What the slopes miss the column space by, and (candidates, equations, open) how open numbers change that."""
        x = rounds.view.rows_of(self.codes[chosen], numbers)
        outputs = rounds.outputs(x)
        miss, moved = self._miss(rounds, x, chosen, outputs), []
        for each in self.family:
            there = x.clone()
            there[:, : len(each)] += STEP * each
            # The first layer is affine: what one row's outputs move by, all rows' do.
            moves = [new - old[:1] for new, old in zip(rounds.outputs(there[:1]), outputs, strict=True)]
            at = [old + move for old, move in zip(outputs, moves, strict=True)]
            moved.append((self._miss(rounds, there, chosen, at) - miss) / STEP)
        return miss, torch.stack(moved, 2)

    def _miss(self, rounds: Rounds, x: Tensor, chosen: Tensor, outputs: Sequence[Tensor] | None = None) -> Tensor:
        """(candidates, equations) the part of the slopes' direction outside of the column space."""
        slopes = rounds.slopes(x, self.labels[chosen], outputs)
        miss: Tensor = (slopes @ rounds.span.left_outside) / slopes.norm(dim=1, keepdim=True).clamp(min=1e-150)
        return miss

    def _misses(self, rounds: Rounds, numbers: Tensor, chosen: Tensor) -> Tensor:
        pieces = zip(torch.split(numbers, AT_ONCE), torch.split(chosen, AT_ONCE), strict=True)
        rows = ((rounds.view.rows_of(self.codes[own], here), own) for here, own in pieces)
        return torch.cat([self._miss(rounds, x, own).norm(dim=1) for x, own in rows])

    def _records(self, rounds: Rounds, numbers: Tensor, chosen: Tensor, most: float) -> Found | None:
        """Those that pass both tests with a weight of 1, each once; None if there is none, or more than are left."""
        rows, labels = rounds.view.rows_of(self.codes[chosen], whole(rounds.view, numbers)), self.labels[chosen]
        span, kept, single, left = rounds.span, [], [], rounds.total - len(rounds.rows)
        for place in torch.split(torch.arange(len(rows)), AT_ONCE):
            x, slopes = rows[place], rounds.slopes(rows[place], labels[place])
            inputs = torch.cat([x, x.new_ones(len(x), 1)], 1) if span.right.shape[1] > x.shape[1] else x
            weight, error = span.weight(slopes, inputs)
            near = (span.slope_distance(slopes) < most) & (span.distance(inputs) < most)
            times = (1 / weight.clamp(min=1e-3)).round().clamp(1, left)  # a record that is there n times weighs 1/n
            fits = (weight * times - 1).abs() < WEIGHT + most * error
            kept.append((times * (near & fits)).long())
            single.append((times == 1) & (most * error < WEIGHT) & self._precise(rounds, inputs, most))
        found = torch.arange(len(rows)).repeat_interleave(torch.cat(kept))
        if not 0 < len(found) <= left:
            return None
        sure = torch.cat(single)[found] & (most <= STRICT) & self._sharp(rounds, numbers[found], chosen[found], most)
        return Found(rows[found], labels[found], sure)

    def _precise(self, rounds: Rounds, inputs: Tensor, most: float) -> Tensor:
        """Whether the row space says the numbers that it does not leave open."""
        values, shut = rounds.span.open_directions(rounds.view.numeric), len(self.family)
        if shut >= min(len(values), rounds.view.numeric):
            return torch.ones(len(inputs), dtype=torch.bool)
        enough: Tensor = most * rounds.span.tolerance(inputs) < PRECISE * values[shut]
        return enough

    def _sharp(self, rounds: Rounds, numbers: Tensor, chosen: Tensor, most: float) -> Tensor:
        """Whether the equations say every open number."""
        span, many = rounds.span, len(self.family)
        if span.left_outside.shape[1] < many + SPARE:
            return torch.zeros(len(numbers), dtype=torch.bool)
        if not many:
            return torch.ones(len(numbers), dtype=torch.bool)
        slopes = rounds.slopes(rounds.view.rows_of(self.codes[chosen], numbers), self.labels[chosen])
        explained = most * span.slope_tolerance(slopes) / slopes.norm(dim=1).clamp(min=1e-150)
        weakest = torch.linalg.svdvals(self._slope(rounds, numbers, chosen)[1])[:, -1]
        sharp: Tensor = explained < SHARP * weakest
        return sharp


def classes(view: View) -> int:
    """How many labels a row can have."""
    return 2 if view.learner.task == "binary" else view.outputs


def inside(view: View, numbers: Tensor) -> Tensor:
    """(rows,) whether numbers are inside their ranges, or nearly."""
    reach = 0.05 * (1 + (view.high - view.low).clamp(max=1e3))
    return ((numbers - numbers.clamp(view.low, view.high)).abs() < reach).all(1)


def _towards(view: View, numbers: Tensor, family: Tensor) -> Tensor:
    """Numbers moved along what is open, towards their ranges."""
    for _ in range(50 if len(family) else 0):
        numbers = numbers + ((numbers.clamp(view.low, view.high) - numbers) @ family.T) @ family
    return numbers
