r"""Vertical learning in large batches, while the model trains: read the people who fill a column alone.

A batch with more rows than a row has independent inputs spans nobody's row (``spans.py``). But its gradient's column of
a category is the sum of the slopes of those who have it, and some column of some batch is one person's alone
(``lone.py``). Slopes of a ReLU net say on which side of every neuron's plane the row lies, which finds its categories
(``halfspaces.py``), and each gives a linear equation for its numbers (``relu_slopes.py``). A row that gives the slopes
of several columns exactly is proven; it is taken away from all of its batches, and leaves others alone there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage._core import NotApplicable, Progress, Streams, silent
from seepage.attacks.vertical.halfspaces import categories_inside, numbers_inside
from seepage.attacks.vertical.lone import CLEAR, Columns
from seepage.attacks.vertical.relu_slopes import Net, decoded, equations, layers_of, net_of, slopes, stacked
from seepage.observation import Claim
from seepage.observation.vertical import Recovery, VerticalScene, VerticalUpdate

DRAWN = Streams(0)  # nothing is drawn
AT_ONCE = 64  # people whose rows are looked for together
FIRST, MOST = 4, 24  # columns of a person: that are certain, and that are looked at
FITTED = 6  # of them, for categories
FITS = 1e-4  # share of slopes that a row may miss
DECODED = 1e-3  # the same of slopes that are written by a pattern and a scale
SEVERAL = 2  # columns that a row must fit
SURE = 5e-3  # deviation of every number of a proven row, in inputs
ROUGH = 0.03  # how far numbers inside half-spaces are off
ACTIVE = 1e-5  # of the largest slope: below it a neuron is at rest


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """Recover the people who fill a column of a category alone, and those who do so when others are read.

    Guarantees:
        A row is *certified* if it gives the slopes of two columns of different batches to 1e-4, one of which can be
        nobody else's, and if these determine each of its numbers to a two-hundredth of a deviation.

    Args:
        steps: of the descent that finds categories.
        memory: bytes of gradients and weights that are kept; the first batches are, which tell most.

    References:
        Seepage (``docs/explanation/vertical-gradients.md``).

    Example:
        >>> Slopes().steps
        100
    """

    steps: int = 100
    memory: int = 1 << 30

    def start(self, scene: VerticalScene, streams: Streams = DRAWN, *, progress: Progress = silent) -> SlopeReader:
        """An attack that is fed batch by batch."""
        layers = layers_of(scene.learner)
        if layers is None:
            raise NotApplicable(
                "Slopes are read of a net of two layers with ReLU and two classes; this one is another."
            )
        if not scene.space.layout.sizes or scene.space.standardised or scene.space.layout.embedded:
            raise NotApplicable("Slopes are read from columns of one-hot categories; the model sees none.")
        return SlopeReader(self, scene, layers, progress)


class SlopeReader:
    """Takes batches as they come; says at any time whose rows they determine."""

    def __init__(
        self, settings: Slopes, scene: VerticalScene, layers: tuple[str, str, str], progress: Progress = silent
    ) -> None:
        self._settings, self._scene, self._layers, self._progress = settings, scene, layers, progress
        self._kept: list[tuple[Tensor, Tensor, Net]] = []
        self.seen = 0

    def see(self, update: VerticalUpdate) -> None:
        """Take one batch."""
        update.check(self._scene)
        self.seen += 1
        gradient = update.gradient[self._scene.weight]
        each = 4 * sum(value.numel() for value in update.parameters.values()) + 12 * gradient.numel()
        if (len(self._kept) + 1) * each <= self._settings.memory:
            self._kept.append((update.rows, len(update.rows) * gradient, net_of(update.parameters, self._layers)))

    def claims(self) -> list[Claim]:
        """One claim about everyone's rows; those that are read are proven."""
        recovery = self.recover()
        (claim,) = recovery.claims(self._scene)
        return [claim] if claim.rows is None else [replace(claim, certified=recovery.determined.numpy())]

    def recover(self) -> Recovery:
        """Read, take away, and read again, until nobody is left alone."""
        layout, people = self._scene.space.layout, self._scene.rows
        inputs = torch.full((people, layout.width), torch.nan, dtype=torch.float64)
        labels = torch.full((people,), -1, dtype=torch.long)
        if self._kept:
            members = torch.zeros(len(self._kept), people, dtype=torch.bool)
            for place, (rows, _, _) in enumerate(self._kept):
                members[place, rows] = True
            columns = Columns(torch.stack([each[:, layout.numeric :].double() for _, each, _ in self._kept]), members)
            search = Search(self._settings, self._scene, columns, stacked([net for _, _, net in self._kept]))
            while found := search.turn(self._progress):
                for person, row, label in found:
                    inputs[person], labels[person] = row, label
        told = torch.isfinite(inputs).all(1)
        note = (
            f"{int(told.sum())} of {people} rows are read and certified by {self.seen} batches: their people fill a "
            "column of a category alone, or do so after others were taken away."
        )
        return Recovery(inputs, told, (), math.nan, note, labels=labels)


class Search:
    """One turn after the other: whoever is alone in a column is looked for, proven, and taken away."""

    def __init__(self, settings: Slopes, scene: VerticalScene, columns: Columns, net: Net) -> None:
        self._steps, self._layout, self._columns, self._net = settings.steps, scene.space.layout, columns, net

    def turn(self, progress: Progress = silent) -> list[tuple[int, Tensor, int]]:
        """Rows that are proven now: person, row and label."""
        self._columns.narrow()
        lone = self._columns.lone()
        people, found = sorted(lone), list[tuple[int, Tensor, int, float]]()
        for begin in range(0, len(people), AT_ONCE):
            progress("people alone in a column", begin, len(people))
            found += self._read(people[begin : begin + AT_ONCE], lone)
        for person, row, label, missed in found:
            self._take_away(person, row, label, missed)
        return [(person, row, label) for person, row, label, _ in found]

    def _read(self, people: list[int], lone: dict[int, dict[int, int]]) -> list[tuple[int, Tensor, int, float]]:
        """Rows of some people, from columns that are certainly theirs, and then from others that these rows explain."""
        seen = certain = self._seen([dict(list(lone[person].items())[:FIRST]) for person in people], FIRST)
        usual = self._usual(people, lone)
        rows = self._inside(seen, usual, self._steps)
        rows, labels, _, _ = self._numbers(seen, rows)
        for least, again in ((0.9, True), (0.99, False)):
            seen = self._seen([self._explained(*each, least) for each in zip(people, rows, labels, strict=True)], MOST)
            good = decoded(seen.net, seen.slopes, seen.active, rows).missing < DECODED
            enough = ((good & seen.there).sum(1) >= SEVERAL)[:, None]
            seen = replace(seen, there=torch.where(enough, good & seen.there, seen.there))
            if again:
                rows = self._inside(seen, usual, self._steps)
            rows, labels, deviation, missed = self._numbers(seen, rows)
        fits = torch.where(seen.there, missed, math.inf).sort(1).values[:, SEVERAL - 1]
        own = torch.where(certain.there, certain.missed(rows, labels), math.inf).amin(1)  # nobody else can fill these
        proven = (fits < FITS) & (own < FITS) & (deviation.amax(1) < SURE if self._layout.numeric else True)
        return [
            (people[place], rows[place], int(labels[place]), float(fits[place]))
            for place in proven.nonzero()[:, 0].tolist()
        ]

    def _usual(self, people: list[int], lone: dict[int, dict[int, int]]) -> Tensor:
        """(people, categories) logarithms of how usual they are; -inf for what a person cannot have."""
        may = self._columns.may[people].clone()
        ends = torch.tensor(self._layout.sizes).cumsum(0)
        for place, person in enumerate(people):
            for category in set(lone[person].values()):
                block = int((ends <= category).sum())
                may[place, int(ends[block]) - self._layout.sizes[block] : int(ends[block])] = False
                may[place, category] = True
        return torch.where(may, self._columns.usual.clamp(min=1e-4).log(), -math.inf).float()

    def _seen(self, columns: list[dict[int, int]], most: int) -> Seen:
        """The slopes in columns, with the weights of their batches."""
        batches = torch.zeros(len(columns), most, dtype=torch.long)
        categories, there = torch.zeros_like(batches), torch.zeros_like(batches, dtype=torch.bool)
        for place, each in enumerate(columns):
            chosen = list(each.items())[:most]
            batches[place, : len(chosen)] = torch.tensor([batch for batch, _ in chosen])
            categories[place, : len(chosen)] = torch.tensor([category for _, category in chosen])
            there[place, : len(chosen)] = True
        found = self._columns.left[batches, :, categories]
        rest = torch.maximum(self._columns.threshold[batches, categories], ACTIVE * found.abs().amax(2))
        return Seen(self._net.at(batches), found, found.abs() > rest[..., None], there)

    def _inside(self, seen: Seen, usual: Tensor, steps: int) -> Tensor:
        """Rows inside the half-spaces of what was seen: categories from a few columns, numbers from all."""
        people, numeric = len(usual), self._layout.numeric
        order = seen.there.float().argsort(dim=1, descending=True, stable=True)[:, :FITTED]
        one = torch.arange(people)[:, None]
        rows = categories_inside(
            seen.net.w1[one, order].flatten(1, 2).float(),
            seen.net.c1[one, order].flatten(1).float(),
            seen.sides[one, order].flatten(1).float(),
            usual,
            self._layout,
            steps,
        ).double()
        without = torch.cat([torch.zeros_like(rows[:, :numeric]), rows[:, numeric:]], 1)
        rest = torch.einsum("pokd,pd->pok", seen.net.w1, without) + seen.net.c1
        near = numbers_inside(
            seen.net.w1[..., :numeric].flatten(1, 2), rest.flatten(1), seen.sides.flatten(1), rows[:, :numeric]
        )
        return torch.cat([near, rows[:, numeric:]], 1)

    def _numbers(self, seen: Seen, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Numbers by the equations of all columns whose pattern is found; labels, deviations, and what slopes miss."""
        numeric = self._layout.numeric
        for _ in range(2):  # better numbers find more patterns
            found = decoded(seen.net, seen.slopes, seen.active, rows)
            used = seen.there & (found.missing < DECODED)
            labels = ((found.error.sign() * used).sum(1) < 0).long()  # the error is negative where the label is 1
            used &= (found.error < 0) == (labels[:, None] == 1)
            factors, right, precision = equations(seen.net, seen.active, found, rows, numeric)
            weight = used * precision
            known = torch.einsum("pon,po,pom->pnm", factors, weight, factors)
            known = known + torch.eye(numeric, dtype=rows.dtype) / ROUGH**2
            off = right - torch.einsum("pon,pn->po", factors, rows[:, :numeric])
            inverse = torch.linalg.inv(known)
            step = torch.einsum("pnm,pom,po,po->pn", inverse, factors, weight, off)
            rows = torch.cat([rows[:, :numeric] + step, rows[:, numeric:]], 1)
        return rows, labels, inverse.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt(), seen.missed(rows, labels)

    def _explained(self, person: int, row: Tensor, label: Tensor, least: float) -> dict[int, int]:
        """Columns of a person's categories, one of each batch, like this row's slopes; the most alike first."""
        batches = self._columns.members[:, person].nonzero()[:, 0]
        categories = torch.tensor(self._categories(row))
        made = slopes(self._net.at(batches[None]), row[None], label[None].double())[0][:, :, None]
        there = self._columns.left[batches][:, :, categories]
        alike = torch.nn.functional.cosine_similarity(made, there, dim=1)
        times = there.norm(dim=1) / made.norm(dim=1).clamp(min=1e-300)
        clear = there.abs().amax(1) > CLEAR * self._columns.threshold[batches][:, categories]
        alike = torch.where((alike > least) & (times > 0.5) & (times < 2) & clear, alike, 0.0)
        best = alike.max(1)
        order = [place for place in best.values.argsort(descending=True).tolist() if best.values[place] > 0]
        return {int(batches[place]): int(categories[best.indices[place]]) for place in order}

    def _take_away(self, person: int, row: Tensor, label: int, missed: float) -> None:
        batches = self._columns.members[:, person].nonzero()[:, 0]
        made = slopes(self._net.at(batches[None]), row[None], torch.tensor([float(label)], dtype=torch.float64))[0]
        self._columns.take_away(person, self._categories(row), made, max(missed, 1e-6))

    def _categories(self, row: Tensor) -> list[int]:
        """The places of a row's categories among all columns of categories."""
        return row[self._layout.numeric :].nonzero()[:, 0].tolist()


@dataclass(frozen=True, eq=False)
class Seen:
    """Columns of some people.

    Args:
        net: weights of their batches, (people, columns, ...).
        slopes: (people, columns, neurons); ``active`` says which are not at rest.
        there: (people, columns) which there are; the others only fill up.
    """

    net: Net
    slopes: Tensor
    active: Tensor
    there: Tensor

    @property
    def sides(self) -> Tensor:
        """(people, columns, neurons) 1 for active, -1 for at rest, 0 where there is no column."""
        return (2.0 * self.active - 1) * self.there[..., None]

    def missed(self, rows: Tensor, labels: Tensor) -> Tensor:
        """(people, columns) the share of the slopes that rows with these labels do not give."""
        made, size = slopes(self.net, rows, labels.double()), self.slopes.square().sum(2).clamp(min=1e-300)
        return ((made - self.slopes).square().sum(2) / size).sqrt()
