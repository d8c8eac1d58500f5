"""People are read from thin columns and taken away, which leaves thin columns to others; turn after turn.

When about half are gone, what is left of the second layer spans the others, and they are read there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import Progress, Streams, silent
from seepage.attacks.vertical.columns import Columns, Part
from seepage.attacks.vertical.hidden import Hidden, Members, SecondLayer
from seepage.attacks.vertical.hidden_fit import fitted, polished
from seepage.attacks.vertical.hidden_proof import judged
from seepage.attacks.vertical.relu_slopes import Net
from seepage.attacks.vertical.seeking import FEW, Seeking
from seepage.attacks.vertical.traces import PROBABILITY, ROUGH, SURE, Solved, Traces, held, solved, traces
from seepage.data import Layout

HORIZON = (150, 300, 500)  # batches of the first turns: who is read from these need not be looked for in others
MORE = 3  # equations beyond those that numbers need
CLOSE = 1e-3  # share of a slope's scale that a proven row may miss
TINY = 5 * PROBABILITY
FIT = 0.7  # share of the batches in which a row shows where its scale must fit
FLOAT = 5e-7  # relative error of slopes in float32
RETURNED = 0.1  # share of all people who are put back together
ROOM = 18  # directions that are missing in the second layer's gradients when people are looked for there
TIGHT = 12  # and when columns read nobody
WORTH = 0.02  # share of the unread that a turn must read there; else columns are looked at
AGAIN = 0.01  # share of all people who must be new before those who were read are put back once more
FINE = 1e-3  # deviation of numbers of a row that is taken away while others can be read without that


@dataclass(frozen=True, eq=False)
class Read:
    """A person's row that is read; ``proven`` says that its numbers are known finely, too."""

    person: int
    row: Tensor
    label: int
    proven: bool


class Peeling:
    """One turn after the other: rows are found, told whose they are, proven, and taken away."""

    def __init__(
        self, layout: Layout, columns: Columns, net: Net, second: SecondLayer, steps: tuple[int, int], streams: Streams
    ) -> None:
        self._layout, self._columns, self._net, self._steps = layout, columns, net, steps[1]
        self._second, self._generator = second, streams.numpy("starts")
        people = len(columns.open)
        self._rows = torch.zeros(people, layout.width, dtype=torch.float64)
        self._labels = torch.zeros(people, dtype=torch.long)
        self._seeking = Seeking(layout, columns, net, steps[0])
        self._taken: Part | None = None
        self._waiting: dict[int, Tensor] = {}  # rows by person that show, and are not proven yet
        self._room = ROOM
        self._turns = self._gained = self._before = 0
        self._stuck = False  # nobody was read by finely known rows alone
        self.done = False

    def begin(self, read: Sequence[Read]) -> None:
        """Take away people who were read before."""
        if read:
            people = torch.tensor([each.person for each in read])
            rows, labels = torch.stack([each.row for each in read]), torch.tensor([each.label for each in read])
            known = torch.zeros(len(read), self._layout.numeric, self._layout.numeric, dtype=rows.dtype)
            self._take_whole(people, rows, labels, known)
            self._before = len(read)

    def turn(self, progress: Progress = silent) -> list[Read]:
        """Rows that are read now, some of them once more."""
        batches = len(self._columns.left)
        until = min([*HORIZON[self._turns : self._turns + 1], batches])
        self._turns += 1
        progress("people who show in columns", int((~self._columns.open).sum()), len(self._columns.open))
        self._columns.narrow()
        proven = self._from_hidden()
        if len(proven) < WORTH * int(self._columns.open.sum()):
            proven += self._proven(*self._seeking.found(until))
        self._gained = int((~self._columns.open).sum()) - self._before
        if proven or until < batches:
            self._stuck = False
        elif not self._stuck:
            self._stuck = True
        elif self._gained > AGAIN * len(self._columns.open):
            self._seeking.afresh()
            self._stuck = False
            self._before += self._gained
            return self._again()
        else:
            self.done = True
        return proven

    def _from_hidden(self) -> list[Read]:
        """People whose rows lie in what is left of the second layer, where that has fewer directions than neurons."""
        columns, layout = self._columns, self._layout
        people, hidden = columns.open.nonzero()[:, 0], self._hidden()
        if not len(people) or hidden is None:
            return []
        spare = int(hidden.spare.median())
        if spare < (min(self._room, TIGHT) if self._stuck else self._room):
            return []
        own = Members.of(columns.members[: len(hidden), people])
        start = torch.from_numpy(self._generator.standard_normal((len(people), layout.width)))
        usual = columns.logarithms(columns.may[people])
        rows = fitted(hidden, self._second.net, own, usual, layout, self._steps, start)
        read, _ = self._by_hidden(hidden, people, rows)
        self._room = spare + 1 if len(read) < WORTH * len(people) else ROOM
        return read

    def _hidden(self) -> Hidden | None:
        """What is left of the second layer; None while it has about as many directions as neurons."""
        columns, moments = self._columns, len(self._second.whole)
        members = columns.members[:moments]
        unread = (members & columns.open).sum(1)
        hidden = self._second.without(self._rows, self._labels, members & ~columns.open, unread)
        return hidden if int(hidden.spare.median()) >= TIGHT else None

    def _by_hidden(self, hidden: Hidden, people: Tensor, rows: Tensor) -> tuple[list[Read], Tensor]:
        """Find the numbers of these people's rows in it, and take away what is proven; also (people,) whose rows are
        refuted."""
        net, where = self._second.net, self._columns.members
        own = Members.of(where[: len(hidden), people])
        found = polished(hidden, net, own, rows, self._layout.numeric)
        said = judged(hidden, net, own, where, people, found)
        certain = said.certain
        people, rows, labels = people[certain], found.rows[certain], said.labels[certain]
        proven = self._take_whole(people, rows, labels, found.covariance[certain])
        return _told(people, proven, torch.ones(len(people), dtype=torch.bool)), said.refuted

    def _take_whole(self, people: Tensor, rows: Tensor, labels: Tensor, covariance: Tensor) -> Solved:
        """These people leave all of their batches with the scales that their rows give."""
        seen = traces(self._columns, self._net, rows, self._columns.members[:, people], every=True)
        none = torch.zeros(len(seen.rows), dtype=torch.bool)
        found = Solved(rows, labels, covariance, covariance, none)
        self._take(people, found, seen, none)
        return found

    def _take(self, people: Tensor, found: Solved, seen: Traces, fits: Tensor) -> None:
        """These people, who are read, leave all of their batches."""
        part = self._part(people, found, seen, fits)
        self._columns.take_away(part)
        self._taken = part if self._taken is None else self._taken.and_that(part)
        self._columns.open[people] = False
        self._rows[people], self._labels[people] = found.rows, found.labels

    def _proven(self, people: Tensor, rows: Tensor) -> list[Read]:
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
        read, found = self._settled(people, rows)
        self._waiting = {int(people[place]): found.rows[place] for place in (~read).nonzero()[:, 0].tolist()}
        return _told(people, found, read)

    def _settled(self, people: Tensor, rows: Tensor) -> tuple[Tensor, Solved]:
        """(rows,) which rows are proven, and what is known of all; those that are proven leave all batches."""
        seen = traces(self._columns, self._net, rows, self._columns.members[:, people], every=True)
        found = solved(rows, seen, self._layout.numeric, ROUGH[-1])
        certain, fits = self._certain(people, found, seen)
        mine = certain[seen.rows]
        self._take(people[certain], found.at(certain), seen.of(certain), fits[mine])
        return certain, found

    def _again(self) -> list[Read]:
        """Find the numbers of those who were read once more, in batches that have fewer people now.

        A number that was a little off put a neuron on the wrong side in some batch, which stays there as an error. And
        a row that a batch lacks was not this person's.
        """
        better, columns = list[Read](), self._columns
        every = (~columns.open).nonzero()[:, 0]
        for people in torch.split(every, max(1, int(RETURNED * len(columns.open)))):
            assert self._taken is not None
            part, rows = self._taken.of(people), self._rows[people]
            columns.put_back(part)
            columns.narrow()
            columns.open[people] = True
            self._taken = self._taken.of(every[~torch.isin(every, people)])
            hidden, refuted = self._hidden(), torch.zeros(len(people), dtype=torch.bool)
            if hidden is not None:
                read, refuted = self._by_hidden(hidden, people, rows)
            else:
                seen = traces(columns, self._net, rows, columns.members[:, people])
                proven, found = self._settled(people, solved(rows, seen, self._layout.numeric, CLOSE).rows)
                read = _told(people, found, proven)
            better += read
            left = people[columns.open[people] & ~refuted]
            if hidden is not None:  # what columns alone have proven is told on, but a proof must stand up here
                better += [Read(who, self._rows[who], int(self._labels[who]), False) for who in left.tolist()]
            columns.take_away(part.of(left))
            columns.open[left] = False
            self._taken = self._taken.and_that(part.of(left))
            every = every[~torch.isin(every, people[refuted])]
        return better

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
            certain &= found.deviation.amax(1) < (SURE if self._stuck else FINE)
        shows = torch.zeros(count, len(self._columns.members))
        shows[seen.rows[fits], seen.batches[fits]] = 1
        shared = shows @ self._columns.members.float()
        shared[torch.arange(count), people] = 0
        return certain & (shared.amax(1) < fitting), fits

    def _part(self, people: Tensor, found: Solved, seen: Traces, fits: Tensor) -> Part:
        """What proven rows add to all their batches: with the scale that was seen, and else with the row's own."""
        errors = torch.where(fits, seen.errors, seen.logits.sigmoid() - found.labels[seen.rows])
        slopes, blocks = seen.paths * errors[:, None], len(self._columns.sizes)
        own = (found.rows[:, self._layout.numeric :] > 0.5).nonzero()[:, 1].view(len(found.rows), blocks)
        spread = torch.einsum("pn,pnm,pm->p", seen.factors, found.covariance[seen.rows], seen.factors).clamp(min=0)
        off = errors.abs() * spread.sqrt() * (1 - errors.abs()).clamp(min=0) + PROBABILITY
        off = torch.where(fits, 0.0, off) + FLOAT * errors.abs()
        return Part(people[seen.rows], seen.batches, own[seen.rows], slopes, off * seen.paths.abs().amax(1))


def _told(people: Tensor, found: Solved, read: Tensor) -> list[Read]:
    """Those of the people who are read."""
    fine = (found.deviation < FINE).all(1).tolist()
    return [
        Read(int(people[place]), found.rows[place], int(found.labels[place]), fine[place])
        for place in read.nonzero()[:, 0].tolist()
    ]


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
