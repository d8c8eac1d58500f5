"""People are read from thin columns and taken away, which leaves thin columns to others; turn after turn."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import Progress, silent
from seepage.attacks.vertical.columns import Columns, Part
from seepage.attacks.vertical.relu_slopes import Net
from seepage.attacks.vertical.sightings import Sightings, rows_of, sightings
from seepage.attacks.vertical.traces import PROBABILITY, ROUGH, SURE, Solved, Traces, held, solved, traces
from seepage.data import Layout

AT_ONCE = 400  # rows that are looked for in a turn
TOGETHER = 2  # sightings of one person that is known that find a row together
OFTEN = 2  # sightings of a person that are tried in a turn
HORIZON = (150, 300, 500)  # batches of the first turns: who is read from these need not be looked for in others
FEW = 3  # batches in which a row must show to be a person's
MORE = 3  # equations beyond those that numbers need
CLOSE = 1e-3  # share of a slope's scale that a proven row may miss
TINY = 5 * PROBABILITY
FIT = 0.7  # share of the batches in which a row shows where its scale must fit
FLOAT = 5e-7  # relative error of slopes in float32
RETURNED = 200  # people who are put back together
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

    def __init__(self, layout: Layout, columns: Columns, net: Net, steps: int) -> None:
        self._layout, self._columns, self._net, self._steps = layout, columns, net, steps
        self._seen: Sightings | None = None
        self._tried = torch.zeros(0, dtype=torch.bool)
        self._taken: Part | None = None
        self._read: dict[int, Tensor] = {}
        self._waiting: dict[int, Tensor] = {}  # rows by person that show, and are not proven yet
        self._turns = self._gained = 0
        self._stuck = False  # nobody was read by finely known rows alone
        self.done = False

    def turn(self, progress: Progress = silent) -> list[Read]:
        """Rows that are read now, some of them once more."""
        batches = len(self._columns.left)
        until = min([*HORIZON[self._turns : self._turns + 1], batches])
        self._turns += 1
        progress("people who show in columns", int((~self._columns.open).sum()), len(self._columns.open))
        self._columns.narrow()
        self._look(until)
        proven = self._proven(*self._whose(*self._rows()))
        self._gained += len(proven)
        if proven or until < batches:
            self._stuck = False
        elif not self._stuck:
            self._stuck = True
        elif self._gained:
            self._tried[:], self._gained, self._stuck = False, 0, False  # others are gone since it was tried in vain
            return self._again()
        else:
            self.done = True
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
        part = self._part(people, found, seen.at(certain[seen.rows]), fits[certain[seen.rows]])
        self._columns.take_away(part)
        self._taken = part if self._taken is None else self._taken.and_that(part)
        self._columns.open[people[certain]] = False
        self._read |= {int(people[place]): found.rows[place] for place in certain.nonzero()[:, 0].tolist()}
        return certain, found

    def _again(self) -> list[Read]:
        """Find the numbers of those who were read once more, from columns that have fewer people now.

        A number that was a little off put a neuron on the wrong side in some batch, which stays there as an error.
        """
        better = list[Read]()
        for people in torch.split(torch.tensor(sorted(self._read)), RETURNED):
            assert self._taken is not None
            part, rows = self._taken.of(people), torch.stack([self._read[person] for person in people.tolist()])
            self._columns.put_back(part)
            self._columns.narrow()
            rest = self._taken.of(torch.tensor(sorted(set(self._read) - set(people.tolist())), dtype=torch.long))
            seen = traces(self._columns, self._net, rows, self._columns.members[:, people])
            self._taken = rest
            read, found = self._settled(people, solved(rows, seen, self._layout.numeric, CLOSE).rows)
            left = part.of(people[~read])
            self._columns.take_away(left)
            self._taken = self._taken.and_that(left)
            better += _told(people, found, read)
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
