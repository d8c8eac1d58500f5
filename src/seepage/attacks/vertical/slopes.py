r"""Vertical learning in large batches, while the model trains: read people from columns that few of a batch fill.

A batch with more rows than a row has independent inputs spans nobody's row (``spans.py``). But its gradient's column of
a category is the sum of the slopes of those who have it, and some are one person's alone, which slopes say themselves
(``sightings.py``). Such a column tells on which side of two hundred planes the row lies, which finds its categories.
The row then tells its slopes in every other batch up to a scale: where the person shows there says who it is, and each
scale is a linear equation for the numbers (``traces.py``). A row that is read is taken away from all of its batches,
which leaves others in columns with fewer people. When about half of everyone is gone, what is left of the second
layer's gradient spans everyone else, one by one (``hidden.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage._core import NotApplicable, Progress, Streams, silent
from seepage.attacks.vertical.columns import Columns
from seepage.attacks.vertical.hidden import SecondLayer
from seepage.attacks.vertical.peeling import Peeling, Read
from seepage.attacks.vertical.relu_slopes import Net, layers_of, net_of, stacked
from seepage.observation import Claim
from seepage.observation.vertical import Recovery, VerticalScene, VerticalUpdate

DRAWN = Streams(0)
FIRST = 25  # times that each person is in a batch of those that are looked at first: they tell most
ENOUGH = 0.98  # share of the people who are enough: of the others the model was sure early, and later batches lack them
OFTEN = 10  # times that each person is in a batch whose second layer is kept


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """Recover people from columns of a category that few of a batch fill, and others when these are taken away.

    Guarantees:
        A row is *certified* if its slopes show in columns of at least three batches more than it has numbers, each
        time in four neurons or more and at the row's own scale, to a thousandth or three of its errors; if errors of
        these scales leave each number a thousandth of a deviation, so that it is right to a fiftieth; and if no other
        person was in as many of these batches. Or if row and slopes lie in what is left of the second layer in three
        batches or more, at the scale that the model gives the row, in a set of batches that no other person was in,
        and are missing in none where they would be seen. At the end, when nearly all are gone, a row that was read
        from columns must pass this, too. Rows whose numbers are known less well are told, and not certified. Of people
        with the same row, and many batches in common with others, one can be taken for another.

    Args:
        steps: of the descent that finds categories in a column.
        search: steps of the descent that finds rows in what is left of the second layer.
        memory: bytes of gradients and weights that are kept; the first batches are, which tell most.

    References:
        Seepage (``docs/explanation/vertical-gradients.md``).

    Example:
        >>> Slopes().steps
        40
    """

    steps: int = 40
    search: int = 150
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
        return SlopeReader(self, scene, layers, streams, progress)


class SlopeReader:
    """Takes batches as they come; says at any time whose rows they determine."""

    def __init__(
        self,
        settings: Slopes,
        scene: VerticalScene,
        layers: tuple[str, str, str],
        streams: Streams,
        progress: Progress = silent,
    ) -> None:
        self._settings, self._scene, self._layers = settings, scene, layers
        self._streams, self._progress = streams, progress
        self._second: list[Tensor] = []
        self._kept: list[tuple[Tensor, Tensor, Net]] = []
        self.seen = 0

    def see(self, update: VerticalUpdate) -> None:
        """Take one batch."""
        update.check(self._scene)
        self.seen += 1
        gradient = update.gradient[self._scene.weight]
        each = 12 * (sum(value.numel() for value in update.parameters.values()) + gradient.numel())
        if (len(self._kept) + 1) * each <= self._settings.memory:
            self._kept.append((update.rows, len(update.rows) * gradient, net_of(update.parameters, self._layers)))
            if len(self._second) * self._scene.batch_size < OFTEN * self._scene.rows:
                second = [update.gradient[f"{self._layers[1]}.{part}"].double() for part in ("weight", "bias")]
                self._second.append(len(update.rows) * torch.cat([second[0], second[1][:, None]], 1))

    def claims(self) -> list[Claim]:
        """One claim about everyone's rows; it says which are proven."""
        recovery, proven = self._recovered()
        (claim,) = recovery.claims(self._scene)
        return [claim] if claim.rows is None else [replace(claim, certified=proven.numpy())]

    def recover(self) -> Recovery:
        """Read, take away, and read again, until nobody new is found."""
        return self._recovered()[0]

    def _recovered(self) -> tuple[Recovery, Tensor]:
        """Everyone's rows, and (people,) which of them are proven."""
        layout, people = self._scene.space.layout, self._scene.rows
        inputs = torch.full((people, layout.width), torch.nan, dtype=torch.float64)
        labels = torch.full((people,), -1, dtype=torch.long)
        proven = torch.zeros(people, dtype=torch.bool)
        for each in self._read():
            inputs[each.person], labels[each.person], proven[each.person] = each.row, each.label, each.proven
        told = torch.isfinite(inputs).all(1)
        read, certified = int(told.sum()), int(proven.sum())
        note = (
            f"{read} of {people} rows are read by {self.seen} batches, {certified} of them certified: "
            "their slopes show in columns that few of a batch fill, or in what is left of the second layer."
        )
        return Recovery(inputs, told, (), math.nan, note, labels=labels), proven

    def _read(self) -> list[Read]:
        """Everybody who is read: from the first batches, and if many are left, then from all."""
        layout, people, found = self._scene.space.layout, self._scene.rows, dict[int, Read]()
        if not self._kept:
            return []
        members = torch.zeros(len(self._kept), people, dtype=torch.bool)
        for place, (rows, _, _) in enumerate(self._kept):
            members[place, rows] = True
        left = torch.stack([each[:, layout.numeric :].T.double() for _, each, _ in self._kept])
        net = stacked([net for _, _, net in self._kept]).double()
        second = SecondLayer(torch.stack(self._second), net.at(torch.arange(len(self._second))))
        steps = (self._settings.steps, self._settings.search)
        for until in sorted({min(FIRST * people // self._scene.batch_size, len(left)), len(left)}):
            if len(found) < ENOUGH * people:
                columns = Columns(left[:until].clone(), members[:until], layout.sizes)
                search = Peeling(layout, columns, net.at(torch.arange(until)), second, steps, self._streams)
                search.begin(list(found.values()))
                while not search.done:
                    found |= {each.person: each for each in search.turn(self._progress)}
                    found = {person: each for person, each in found.items() if not columns.open[person]}
        return list(found.values())
