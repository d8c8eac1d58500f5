r"""People with the same categories, after several local steps: which points of their line or plane they are.

Over several local steps the first layer's update is still :math:`A = \sum_i \delta_i (x_i, 1)^\top`, with
:math:`\delta_i` a row's mean slopes along the way. Two rows that differ in numbers only can be any two points of the
line through them, as far as the span tells, two such pairs any points of a plane; and no deeper layer settles it, since
those move along. But once points are chosen, what is left of :math:`A` after all other rows gives the mean slopes of
each of them exactly, and slopes can be predicted: those at the middle of the way are right to a few percent. Points
that are off by years of age are off by more. So the points are fitted (Levenberg and Marquardt) until the slopes that
they leave are those that they should have. Rounds add up; one alone is too little (tried: it spoils as many rows as it
mends).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from seepage._core import NotApplicable
from seepage.attacks.exact.settling import classes
from seepage.attacks.exact.stacked import whole
from seepage.attacks.exact.view import Layer, View, codes_of, layer_gradient, view_of
from seepage.models import layer_slopes
from seepage.observation import Claim, Observation

OPEN = 0.05  # a direction of numbers that leaves the span by less than this is in it
MOST = 8  # rows that are fitted together
STARTS = 4  # from what was read, and from elsewhere on the plane
LABELLED = 4  # combinations of labels that are tried
TURNS = 25
STEP = 1e-4
FITTED = 0.03  # deviations to which a fit is right
BETTER = 0.8  # of the misfit before, at most
WORSE = 1.2  # times the best fit's misfit: as good, where whole numbers are put in


@dataclass(frozen=True, eq=False)
class _Round:
    """One round: the model at the middle of its way, and the first layer's update as a sum over rows."""

    view: View
    layer: Layer
    sent: Tensor

    def slopes(self, x: Tensor, labels: Tensor) -> Tensor:
        """(rows, outputs) at the middle of the way."""
        return layer_slopes(self.view.learner, self.layer.name, self.view.parameters, x, labels)


def with_lines(claim: Claim, rounds: Sequence[Observation]) -> Claim:
    """A claim about rows behind several local steps, whose rows of equal categories are settled by all rounds."""
    if claim.rows is None:
        return claim
    rows = settled_lines(rounds, torch.from_numpy(claim.rows).double()).float().numpy()
    kept = np.zeros(len(rows), dtype=bool) if claim.certified is None else claim.certified
    return replace(claim, rows=np.where(kept[:, None], claim.rows, rows))


def settled_lines(rounds: Sequence[Observation], rows: Tensor) -> Tensor:
    """The rows, with the numbers of those that share their categories put where their slopes say.

    Args:
        rounds: of one client, each of several local steps.
        rows: (rows, width) what was read, complete.
    """
    told = _told(rounds)
    puzzle = _Puzzle.of(told, rows) if told else None
    if puzzle is None:
        return rows
    found = rows.clone()
    found[puzzle.places] = puzzle.solved()
    return found


def _told(rounds: Sequence[Observation]) -> list[_Round]:
    """The rounds, if their first layers can be read."""
    found = []
    for observation in rounds:
        try:
            view = view_of(observation)
        except NotApplicable:
            return []
        layer = next((each for each in view.layers if each.entrance), None)
        if layer is None or not layer.biased or view.learner.task == "regression" or view.learner.has_noise:
            return []
        found.append(_Round(view, layer, layer_gradient(view.gradient, layer) * observation.exchange.rows))
    return found


@dataclass(frozen=True, eq=False)
class _Puzzle:
    """All rows, those of which share their categories with others, and what the update says about them.

    Args:
        rounds: what was seen.
        rows: what was read.
        places: of the rows that are open.
        ways: (open, width) directions of numbers that the span leaves open.
        basis: (inputs, rows) of the span.
    """

    rounds: Sequence[_Round]
    rows: Tensor
    places: Tensor
    ways: Tensor
    basis: Tensor

    @staticmethod
    def of(rounds: Sequence[_Round], rows: Tensor) -> _Puzzle | None:
        """The puzzle, if there is one: rows that are alike, and a span that tells all rows apart."""
        view = rounds[0].view
        span, numeric = view.entrance, view.numeric
        alike: dict[tuple[int, ...], list[int]] = {}
        for place, codes in enumerate(codes_of(view.space.layout, rows).tolist()):
            alike.setdefault(tuple(codes), []).append(place)
        places = [place for each in alike.values() if len(each) > 1 for place in each]
        if span is None or span.rank != len(rows) or not 0 < len(places) <= MOST:
            return None
        unit = torch.eye(rows.shape[1] + 1, dtype=torch.float64)[:numeric]
        left, values, _ = torch.linalg.svd(span.beyond(unit), full_matrices=False)  # (numeric, equations)
        ways = torch.zeros(int((values < OPEN).sum()), rows.shape[1]).double()
        ways[:, :numeric] = left[:, values < OPEN].T
        return _Puzzle(rounds, rows, torch.tensor(places), ways, span.right.T) if len(ways) else None

    def solved(self) -> Tensor:
        """The open rows where they fit best, from where they were read and from elsewhere."""
        view, many = self.rounds[0].view, len(self.places)
        drawn = torch.Generator().manual_seed(0)
        none = torch.zeros(many, len(self.ways)).double()
        starts = torch.stack([none] + [torch.randn(none.shape, generator=drawn).double() for _ in range(STARTS - 1)])
        few = classes(view) ** many <= LABELLED
        every = list(itertools.product(range(classes(view)), repeat=many)) if few else [self._likely_labels()]
        labels = torch.tensor(every).double().repeat_interleave(STARTS, 0)
        spots, cost = self._fitted(starts.repeat(len(every), 1, 1), labels)
        best, before = (
            int(cost.argmin()),
            self._miss(none.repeat(len(every), 1, 1), labels[::STARTS]).square().sum(1).min(),
        )
        if (
            cost[best] > BETTER * before
        ):  # where rows were read rightly a fit finds no more than the error of its slopes
            return self.rows[self.places]
        sharp = self._whole(spots[best])
        if (
            sharp is not None
            and float(self._miss(sharp[None], labels[best : best + 1]).square().sum()) < WORSE * cost[best]
        ):
            spots[best] = sharp
        x = self._placed(spots[best][None])[0, self.places]
        numbers = whole(view, x[:, : view.numeric])
        inside = bool(((numbers > view.low - 0.05) & (numbers < view.high + 0.05)).all())
        return torch.cat([numbers, x[:, view.numeric :]], 1) if inside else self.rows[self.places]

    def _likely_labels(self) -> tuple[int, ...]:
        """The labels that fit the open rows best where they were read."""
        return tuple(self._labels[self.places].tolist())

    def _whole(self, spots: Tensor) -> Tensor | None:
        """The spots next to these at which whole numbers are whole; None if none is known to be, or sharp enough."""
        view, space = self.rounds[0].view, self.rounds[0].view.space
        if not bool(view.integers.any()) or space.scale is None or space.shift is None:
            return None
        scale, shift = space.scale[: view.numeric].double(), space.shift[: view.numeric].double()
        lead = view.integers & (scale * FITTED < 0.5)
        ways = (self.ways[:, : view.numeric] * scale)[:, lead]
        if not bool(lead.any()):
            return None
        raw = (self._placed(spots[None])[0, self.places][:, : view.numeric] * scale + shift)[:, lead]
        # As little as is needed: directions that move no such number stay where they are.
        change: Tensor = torch.linalg.pinv(ways.T, rtol=0.05) @ (raw.round() - raw).T
        return spots + change.T

    def _placed(self, spots: Tensor) -> Tensor:
        """(tries, rows, width) all rows, the open ones at these spots."""
        found = self.rows.repeat(len(spots), 1, 1)
        found[:, self.places] = found[:, self.places] + spots @ self.ways
        return found

    def _miss(self, spots: Tensor, labels: Tensor) -> Tensor:
        """(tries, equations) predicted slopes of all rows less those that the update leaves for them."""
        x = self._placed(spots)
        system = torch.cat([x, x.new_ones(*x.shape[:2], 1)], 2) @ self.basis  # (tries, rows, rows)
        system = system.transpose(1, 2) + 1e-9 * torch.eye(x.shape[1], dtype=torch.float64)
        found = []
        for each, others in zip(self.rounds, self._predicted, strict=True):
            parts = (each.sent @ self.basis).T
            left = torch.linalg.solve(system, parts.expand(len(x), -1, -1))
            should = others.repeat(len(x), 1, 1)
            own = each.slopes(x[:, self.places].flatten(0, 1), labels.flatten())
            should[:, self.places] = own.reshape(len(x), len(self.places), -1)
            found.append((should - left).flatten(1) / parts.norm())
        # Points that fall together leave slopes without bounds: they are cut, so that a search gets away from there.
        return torch.cat(found, 1).clamp(-1, 1)

    @cached_property
    def _predicted(self) -> list[Tensor]:
        """For each round, (rows, outputs) slopes of all rows where they were read, with the labels that fit best."""
        found = []
        for each in self.rounds:
            labelled = [
                each.slopes(self.rows, torch.full((len(self.rows),), float(label), dtype=torch.float64))
                for label in range(classes(each.view))
            ]
            found.append(torch.stack(labelled)[self._labels, torch.arange(len(self.rows))])
        return found

    @cached_property
    def _labels(self) -> Tensor:
        """(rows,) the labels that fit all rows best where they were read, over all rounds."""
        system = (torch.cat([self.rows, self.rows.new_ones(len(self.rows), 1)], 1) @ self.basis).T
        far = torch.zeros(classes(self.rounds[0].view), len(self.rows)).double()
        for each in self.rounds:
            left = torch.linalg.solve(system, (each.sent @ self.basis).T)
            for label in range(len(far)):
                own = each.slopes(self.rows, torch.full((len(self.rows),), float(label), dtype=torch.float64))
                far[label] += (left - own).square().sum(1) / left.square().sum()
        return far.argmin(0)

    def _fitted(self, spots: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Spots after some turns of Levenberg and Marquardt, and what they miss."""
        miss = self._miss(spots, labels)
        cost, damping = miss.square().sum(1), torch.full((len(spots),), 1e-2).double()
        size = spots[0].numel()
        unit = torch.eye(size, dtype=torch.float64)
        for _ in range(TURNS):
            moves = STEP * unit.reshape(size, *spots.shape[1:])
            slope = torch.stack([(self._miss(spots + move, labels) - miss) / STEP for move in moves], 2)
            square = slope.transpose(1, 2) @ slope
            most = square.diagonal(dim1=1, dim2=2).amax(1)
            square = square + (damping * most)[:, None, None] * unit
            step = torch.linalg.solve(square, -(slope.transpose(1, 2) @ miss[:, :, None]))[:, :, 0]
            tried = spots + step.clamp(-1, 1).reshape(spots.shape)
            other = self._miss(tried, labels)
            better = other.square().sum(1) < cost
            spots, miss = torch.where(better[:, None, None], tried, spots), torch.where(better[:, None], other, miss)
            cost, damping = miss.square().sum(1), torch.where(better, damping / 3, damping * 4).clamp(1e-8, 1e3)
        return spots, cost
