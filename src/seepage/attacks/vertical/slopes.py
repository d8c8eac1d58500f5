r"""Vertical learning in large batches, while the model trains: read people from columns that few of a batch fill.

A batch with more rows than a row has independent inputs spans nobody's row (``spans.py``). But its gradient's column of
a category is the sum of the slopes of those who have it, and some are one person's alone, which slopes say themselves
(``sightings.py``). Such a column tells on which side of two hundred planes the row lies, which finds its categories.
The row then tells its slopes in every other batch up to a scale: where the person shows there says who it is, and each
scale is a linear equation for the numbers (``traces.py``). A row that is read is taken away from all of its batches,
which leaves others in columns with fewer people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage._core import NotApplicable, Progress, Streams, silent
from seepage.attacks.vertical.columns import Columns
from seepage.attacks.vertical.relu_slopes import Net, layers_of, net_of, stacked
from seepage.attacks.vertical.sightings import Sightings, rows_of, sightings
from seepage.attacks.vertical.traces import ROUGH, SURE, Solved, Traces, held, solved, traces
from seepage.observation import Claim
from seepage.observation.vertical import Recovery, VerticalScene, VerticalUpdate

DRAWN = Streams(0)  # nothing is drawn
AT_ONCE = 400  # rows that are looked for in a turn
TOGETHER = 2  # sightings of one person that is known that find a row together
OFTEN = 2  # sightings of a person that are tried in a turn
HORIZON = (150, 300, 500)  # batches of the first turns: who is read from these need not be looked for in others
FEW = 3  # batches in which a row must show to be a person's
MORE = 3  # equations beyond those that numbers need
CLOSE = 1e-3  # share of a slope's scale that a proven row may miss
TINY = 3e-7  # of a probability: float32's own
FIT = 0.7  # share of the batches in which a row shows where its scale must fit
KNOWN = 1e-5  # share of the slopes of a proven row that may be wrong


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """Recover people from columns of a category that few of a batch fill, and others when these are taken away.

    Guarantees:
        A row is *certified* if its slopes show in columns of at least three batches more than it has numbers, each time
        in four neurons or more and at the scale that the row itself has there, to a thousandth; if these determine each
        of its numbers to a two-hundredth of a deviation; and if no other person was in as many of these batches.

    Args:
        steps: of the descent that finds categories.
        memory: bytes of gradients and weights that are kept; the first batches are, which tell most.

    References:
        Seepage (``docs/explanation/vertical-gradients.md``).

    Example:
        >>> Slopes().steps
        40
    """

    steps: int = 40
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
        """Read, take away, and read again, until nobody new is found."""
        layout, people = self._scene.space.layout, self._scene.rows
        inputs = torch.full((people, layout.width), torch.nan, dtype=torch.float64)
        labels = torch.full((people,), -1, dtype=torch.long)
        if self._kept:
            members = torch.zeros(len(self._kept), people, dtype=torch.bool)
            for place, (rows, _, _) in enumerate(self._kept):
                members[place, rows] = True
            left = torch.stack([each[:, layout.numeric :].T.double() for _, each, _ in self._kept])
            columns = Columns(left, members, layout.sizes)
            search = Search(self._settings, self._scene, columns, stacked([net for _, _, net in self._kept]).double())
            while not search.done:
                for person, row, label in search.turn(self._progress):
                    inputs[person], labels[person] = row, label
        told = torch.isfinite(inputs).all(1)
        note = (
            f"{int(told.sum())} of {people} rows are read and certified by {self.seen} batches: their slopes show in "
            "columns of a category that few of a batch fill."
        )
        return Recovery(inputs, told, (), math.nan, note, labels=labels)


class Search:
    """One turn after the other: rows are found, told whose they are, proven, and taken away."""

    def __init__(self, settings: Slopes, scene: VerticalScene, columns: Columns, net: Net) -> None:
        self._steps, self._layout, self._columns, self._net = settings.steps, scene.space.layout, columns, net
        self._seen: Sightings | None = None
        self._tried = torch.zeros(0, dtype=torch.bool)
        self._waiting: dict[int, Tensor] = {}  # rows by person that show, and are not proven yet
        self._turns = self._gained = 0
        self.done = False

    def turn(self, progress: Progress = silent) -> list[tuple[int, Tensor, int]]:
        """Rows that are proven now: person, row and label."""
        batches = len(self._columns.left)
        until = min([*HORIZON[self._turns : self._turns + 1], batches])
        self._turns += 1
        progress("people who show in columns", int((~self._columns.open).sum()), len(self._columns.open))
        self._columns.narrow()
        self._look(until)
        proven = self._proven(*self._whose(*self._rows()))
        self._gained += len(proven)
        if not proven and until == batches and self._tried.all():
            self.done = not self._gained  # what was tried in vain may be read now that others are gone
            self._tried[:], self._gained = False, 0
        return proven

    def _look(self, until: int) -> None:
        """Add what is seen now; leave out columns from which somebody was taken."""
        new = sightings(self._columns, self._net, self._layout, until)
        if self._seen is not None:
            stands = self._seen.stand(self._columns)
            new, self._tried = self._seen.at(stands).and_those(new), self._tried[stands]
        self._seen = new
        self._tried = torch.cat([self._tried, torch.zeros(len(new) - len(self._tried), dtype=torch.bool)])

    def _rows(self) -> tuple[Tensor, Tensor]:
        """Rows of some sightings that were not tried yet, and the people (rows, people) who each can be."""
        assert self._seen is not None
        people = len(self._columns.open)
        who = self._columns.candidates(self._seen.allowed) & self._columns.members[self._seen.batches]
        groups = self._groups(who)
        if not groups:
            return torch.zeros(0, self._layout.width, dtype=torch.float64), torch.zeros(0, people, dtype=torch.bool)
        table = torch.full((len(groups), TOGETHER), -1)
        for place, group in enumerate(groups):
            table[place, : len(group)] = torch.tensor(group)
        there, who = table >= 0, who[table[:, 0]]
        may = who.float() @ self._columns.may.float() > 0
        found = [
            rows_of(
                self._seen.at(table[part].clamp(min=0).flatten()),
                there[part],
                may[part],
                self._columns,
                self._net,
                self._layout,
                self._steps,
            )
            for part in torch.split(torch.arange(len(groups)), 128)
        ]
        return torch.cat(found), who

    def _groups(self, who: Tensor) -> list[list[int]]:
        """Sightings that are tried now: together if they can be one person's only, else one by one; surest first."""
        assert self._seen is not None
        count = who.sum(1)
        order = torch.argsort(count + self._seen.batches / len(self._columns.left), stable=True).tolist()
        certain, single = dict[int, list[int]](), list[list[int]]()
        times = torch.zeros(len(self._columns.open))
        for place in order:
            if not count[place] or self._tried[place] or len(certain) + len(single) >= AT_ONCE:
                continue
            people = who[place].nonzero()[:, 0]
            if len(people) == 1:
                group = certain.setdefault(int(people[0]), [])
                if len(group) < TOGETHER:
                    group.append(place)
                    self._tried[place] = True
            elif bool((times[people] < OFTEN).any()):
                times[people] += 1
                single.append([place])
                self._tried[place] = True
        return [*certain.values(), *single]

    def _whose(self, rows: Tensor, who: Tensor) -> tuple[Tensor, Tensor]:
        """People and their rows: of those who a row can be, the one in whose batches it shows most often."""
        members = self._columns.members.float()
        seen = traces(self._columns, self._net, rows, members @ who.float().T > 0)
        shows = torch.zeros(len(members), len(rows))
        shows[seen.batches, seen.rows] = 1
        most, person = ((shows.T @ members) * who).max(1)
        lacks = ((rows[:, self._layout.numeric :] > 0.5) & ~self._columns.may[person]).any(1)
        good = (most >= FEW) & ~lacks
        return person[good], rows[good]

    def _proven(self, people: Tensor, rows: Tensor) -> list[tuple[int, Tensor, int]]:
        """Find the numbers of these people's rows, and of those that wait, and take away what is proven."""
        waiting = [person for person in self._waiting if self._columns.open[person]]
        people = torch.cat([people, torch.tensor(waiting, dtype=torch.long)])
        rows = torch.cat([rows, *(self._waiting[person][None] for person in waiting)])
        members = self._columns.members.T
        for turn, rough in enumerate(ROUGH):
            seen = traces(self._columns, self._net, rows, members[people].T)
            shown = seen.count(len(rows))
            best = _first(people, shown) if turn < 2 else torch.ones(len(people), dtype=torch.bool)
            enough = best & (shown >= FEW)
            people, seen = people[enough], seen.of(enough)
            found = solved(rows[enough], seen, self._layout.numeric, rough)
            rows = held(self._net, found, seen, self._layout.numeric)
        seen = traces(self._columns, self._net, rows, members[people].T, every=True)
        found = solved(rows, seen, self._layout.numeric, ROUGH[-1])
        certain, fits = self._certain(people, found, seen)
        self._take_away(found, seen, certain, fits)
        self._columns.open[people[certain]] = False
        named = list(zip(people.tolist(), found.rows, found.labels.tolist(), certain.tolist(), strict=True))
        self._waiting = {person: row for person, row, _, proven in named if not proven}
        return [(person, row, label) for person, row, label, proven in named if proven]

    def _certain(self, people: Tensor, found: Solved, seen: Traces) -> tuple[Tensor, Tensor]:
        """(rows,) which rows are proven, and (traces,) which scales fit theirs."""
        errors = seen.logits.sigmoid() - found.labels[seen.rows]
        off = (seen.errors - errors).abs()
        fits = found.fitting & (off < torch.maximum(CLOSE * errors.abs(), 3 * seen.relative * errors.abs()) + TINY)
        count, numeric = len(people), self._layout.numeric
        fitting, shown = seen.count(count, fits), seen.count(count, seen.shown > 0)
        against = seen.count(count, seen.against)
        certain = (fitting >= numeric + MORE) & (fitting >= FIT * shown) & (against <= 1)
        if numeric:
            certain &= found.deviation.amax(1) < SURE
        shows = torch.zeros(count, len(self._columns.members))
        shows[seen.rows[fits], seen.batches[fits]] = 1
        shared = shows @ self._columns.members.float()
        shared[torch.arange(count), people] = 0
        return certain & (shared.amax(1) < fitting), fits

    def _take_away(self, found: Solved, seen: Traces, certain: Tensor, fits: Tensor) -> None:
        """Proven rows leave all batches: with the scale that was seen, and else with the row's own."""
        mine = certain[seen.rows]
        errors = torch.where(fits, seen.errors, seen.logits.sigmoid() - found.labels[seen.rows])[mine]
        gone = seen.at(mine)
        slopes = gone.paths * errors[:, None]
        own = (
            (found.rows[:, self._layout.numeric :] > 0.5)
            .nonzero()[:, 1]
            .view(len(found.rows), len(self._columns.sizes))
        )
        error = torch.where(fits[mine], 2e-6, KNOWN) * slopes.abs().amax(1)
        self._columns.take_away(gone.batches, own[gone.rows], slopes, error)


def _first(people: Tensor, shown: Tensor) -> Tensor:
    """(rows,) for each person, the row that shows most often."""
    order = torch.argsort(shown, descending=True, stable=True)
    people = people[order]
    order = order[torch.argsort(people, stable=True)]
    people = people.sort(stable=True).values
    first = torch.ones(len(people), dtype=torch.bool)
    first[1:] = people[1:] != people[:-1]
    best = torch.zeros(len(people), dtype=torch.bool)
    best[order[first]] = True
    return best
