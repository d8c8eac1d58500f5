"""Looks for rows of people who were not read yet in columns that one person fills, and tells whose they are."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.attacks.vertical.columns import Columns
from seepage.attacks.vertical.relu_slopes import Net
from seepage.attacks.vertical.sightings import Sightings, rows_of, sightings
from seepage.attacks.vertical.traces import traces
from seepage.data import Layout

AT_ONCE = 400  # rows that are looked for in a turn
TOGETHER = 2  # sightings of one person that is known that find a row together
OFTEN = 2  # sightings of a person that are tried in a turn
FEW = 3  # batches in which a row must show to be a person's
ELSEWHERE = 0.2  # of these, it may show in so many others: where there are copies nobody can tell whose it is


class Seeking:
    """What was seen in columns so far, and what of it was tried."""

    def __init__(self, layout: Layout, columns: Columns, net: Net, steps: int) -> None:
        self._layout, self._columns, self._net, self._steps = layout, columns, net, steps
        self._seen: Sightings | None = None
        self._tried = torch.zeros(0, dtype=torch.bool)

    def found(self, until: int) -> tuple[Tensor, Tensor]:
        """People and their rows, roughly, by columns of the first batches, as many as are said."""
        self._look(until)
        return self._whose(*self._sought())

    def afresh(self) -> None:
        """Try everything again: others are gone since it was tried in vain."""
        self._tried[:] = False

    def _look(self, until: int) -> None:
        """Add what is seen now; leave out columns from which somebody was taken."""
        new = sightings(self._columns, self._net, self._layout, until)
        if self._seen is not None:
            stands = self._seen.stand(self._columns)
            new, self._tried = self._seen.at(stands).and_those(new), self._tried[stands]
        self._seen = new
        self._tried = torch.cat([self._tried, torch.zeros(len(new) - len(self._tried), dtype=torch.bool)])

    def _sought(self) -> tuple[Tensor, Tensor]:
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
        good = (most >= FEW) & ~lacks & (shows.sum(0) - most <= ELSEWHERE * most)
        return person[good], rows[good]
