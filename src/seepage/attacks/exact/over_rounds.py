r"""One client's rows from all of its rounds that were seen.

Three things that one update does not have:

1. *Rounds on the same rows* are one puzzle (``rounds.py``): fixed batches, or clients that send one step on all rows.
2. *Rounds on overlapping rows*, such as FedSGD batches over several epochs: nobody says who is in which batch, but a
   row that was proven in one round can be tested in any other, alone, by that round's own spans. To test a row is far
   easier than to find it. What passes is proven there too and taken away, and the rest is a smaller batch, whose rows
   help the rounds that come after.
3. *Several local steps* leave no exact slopes, so rounds are read one by one, and rows that many rounds agree on are
   believed more than those of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from seepage._core import NotApplicable, Outcome, Progress, Streams, under
from seepage.attacks.exact.cascade import Exact
from seepage.attacks.exact.case import Case
from seepage.attacks.exact.lines import with_lines
from seepage.attacks.exact.rounds import ExactRounds
from seepage.attacks.exact.view import codes_of, joined
from seepage.data import Layout
from seepage.observation import Claim, Observation

FEW = 10  # rows that are not proven yet: so few are looked for without all others
ESTIMATED = 10  # restarts for rows that no round tells apart, and that are estimates at best
TURNS = 3  # how often rows are passed on between rounds
Item = TypeVar("Item")
APART = 0.01  # a direction that the bases of spans share less than this is not the same
NEAR = 0.1  # numbers of one row as two rounds read it, in deviations


def over_rounds(attack: Exact, observation: Observation, streams: Streams, progress: Progress) -> Claim:
    """What all rounds say about the rows of the last one."""
    claim = _read(attack, observation, streams, progress)
    if claim.labels is None or observation.labels is not None or not _all_read(claim):
        return replace(claim, labels=None)
    return replace(claim, labels=claim.labels.astype(np.int64))


def _read(attack: Exact, observation: Observation, streams: Streams, progress: Progress) -> Claim:
    rounds = observation.rounds
    if observation.exchange.steps > 1:
        claim = agreed(attack(rounds, streams, progress=under("round by round", progress)), observation)
        return with_lines(claim, rounds)
    added_up = _added_up(attack, rounds, streams.child("added up"), progress)
    if _proven(added_up) == observation.exchange.rows:
        return added_up
    together = max(added_up, _together(rounds, added_up, streams.child("together"), progress), key=_proven)
    if _proven(together) == observation.exchange.rows:
        return together
    parts = [_Round(Case(each)) for each in rounds]
    if _all_read(together) and not any(part.case.open for part in parts):  # no round alone proves anything more
        return together
    passed = _passed_on(attack, parts, rounds, streams.child("passed on"), under("round by round", progress))
    if _proven(passed) < _proven(together):
        return _filled(together, passed)
    return replace(passed, note=f"{passed.note} All rounds as one: {together.note}")


def _together(rounds: Sequence[Observation], known: Claim, streams: Streams, progress: Progress) -> Claim:
    """All rounds as one: first without what is proven, if little is left; that is quick.

    Proven numbers may be off by 1e-4, which is enough to send others from behind a kink, so that many rows that are
    taken away leave what nobody sent. Then all of them are looked for.
    """
    total = rounds[0].exchange.rows
    try:
        if total - FEW <= _proven(known) < total:
            claim = ExactRounds()(rounds, streams, known=known, progress=progress)[-1]
            if _proven(claim) == total:
                return claim
        return ExactRounds()(rounds, streams, progress=progress)[-1]
    except NotApplicable as error:
        return Claim(outcome=Outcome.NOT_APPLICABLE, note=str(error))


def _added_up(attack: Exact, rounds: Sequence[Observation], streams: Streams, progress: Progress) -> Claim:
    """Every row must pass the deeper layers of all rounds, whose few equations add up."""
    cases = [Case(each) for each in rounds]
    views = [case.view for case in cases]
    deep = [replace(each, layers=_at(each.layers, each.deep), spans=_at(each.spans, each.deep)) for each in views]
    entrances = [view.entrance for view in views if view.entrance is not None]
    if len(entrances) < len(views) or not all(each.layers for each in deep) or not views[0].peelable:
        return Claim(outcome=Outcome.NOT_APPLICABLE, note="No deeper layer tells rows apart.")
    widest = max(range(len(entrances)), key=lambda place: entrances[place].rank)
    spanned = torch.linalg.svdvals(torch.cat([span.right for span in entrances]))
    if int((spanned > APART).sum()) > entrances[widest].rank:
        return Claim(outcome=Outcome.NOT_APPLICABLE, note="The rounds are not of the same rows.")
    case = cases[widest]
    case.view = joined([views[widest], *(each for place, each in enumerate(deep) if place != widest)])
    return attack.read([case], streams, under("rounds added up", progress))[0]


def _at(values: tuple[Item, ...], places: Sequence[int]) -> tuple[Item, ...]:
    return tuple(values[place] for place in places)


def _proven(claim: Claim) -> int:
    return 0 if claim.certified is None else int(claim.certified.sum())


def _all_read(claim: Claim) -> bool:
    """Whether no row is missing: those that are have no label."""
    return claim.labels is not None and not bool(np.isnan(claim.labels).any())


def _filled(found: Claim, other: Claim) -> Claim:
    """Rows that were found over all rounds; in place of those that are missing, the estimates of another claim."""
    assert found.rows is not None
    if other.rows is None or found.labels is None:  # without labels, estimates are in their places already
        return found
    missing = np.flatnonzero(np.isnan(found.labels))
    apart = torch.cdist(torch.from_numpy(found.rows).double(), torch.from_numpy(other.rows).double())
    far = apart[np.isfinite(found.labels)].amin(0).argsort(descending=True)[: len(missing)].numpy()
    rows = found.rows.copy()
    rows[missing] = other.rows[far]
    return replace(found, rows=rows)


@dataclass
class _Round:
    """One round on its way: what is proven in it, and what an attack says about the rest."""

    case: Case
    claim: Claim | None = None
    grown: bool = True  # something was taken away since the rest was last attacked

    def offer(self, layout: Layout, rows: Tensor) -> None:
        """Rows of other rounds, each tested here alone."""
        while len(rows) and not self.case.done and self.case.offer(codes_of(layout, rows), rows[:, : layout.numeric]):
            self.grown = True

    def proven(self) -> Tensor:
        """Certified rows: taken away here, or of the rest."""
        found = [self.case.rows[self.case.certain]]
        if self.claim is not None and self.claim.rows is not None and self.claim.certified is not None:
            found.append(torch.from_numpy(self.claim.rows[self.claim.certified]).double())
        return torch.cat(found)


def _passed_on(
    attack: Exact, parts: Sequence[_Round], rounds: Sequence[Observation], streams: Streams, progress: Progress
) -> Claim:
    """Every round attacked, with what the others proved."""
    layout = rounds[0].layout
    if not any(part.case.open for part in parts):  # no round alone proves anything that could be passed on
        fewer = replace(attack, restarts=min(attack.restarts, ESTIMATED))
        return fewer([rounds[-1]], streams, progress=progress)[0]
    for turn in range(TURNS):
        for number, part in enumerate(parts):
            if part.grown and not part.case.done:
                own = streams.child(turn, number)
                (part.claim,) = attack([part.case.rest], own, progress=progress)
                part.grown = False
        pool = _different(torch.cat([part.proven() for part in parts]))
        for part in parts:
            if part.claim is None or part.claim.certified is None or not bool(part.claim.certified.all()):
                part.offer(layout, pool)
        if not any(part.grown and not part.case.done for part in parts):
            break
    return _whole(parts[-1], rounds[-1])


def _whole(part: _Round, observation: Observation) -> Claim:
    """What was taken away and what is said about the rest, as one answer."""
    if not len(part.case.rows):
        assert part.claim is not None
        return part.claim
    rows, certified = part.case.rows.float().numpy(), part.case.certain.numpy()
    if part.claim is not None and part.claim.rows is not None:
        left = observation.exchange.rows - len(rows)
        own = part.claim.certified if part.claim.certified is not None else np.zeros(len(part.claim.rows), dtype=bool)
        rows, certified = np.concatenate([rows, part.claim.rows[:left]]), np.concatenate([certified, own[:left]])
    base = part.claim or part.case.claim()
    return replace(
        base,
        rows=rows,
        certified=certified,
        labels=None,
        doubt=None,
        note=f"{int(certified.sum())} of {len(rows)} rows are certified, with the help of other rounds.",
    )


def _different(rows: Tensor) -> Tensor:
    """Each row once."""
    kept: list[int] = []
    for place in range(len(rows)):
        if not kept or float(torch.cdist(rows[place : place + 1], rows[kept]).min()) > NEAR / 2:
            kept.append(place)
    return rows[kept]


def agreed(claims: Sequence[Claim], observation: Observation) -> Claim:
    """The rows that most rounds read, with the middle of the numbers that they read; the last round's claim otherwise.

    Proofs are those of the last round: its claim is what is completed.
    """
    last, total, layout = claims[-1], observation.exchange.rows, observation.layout
    read = [torch.from_numpy(each.rows).double() for each in claims if each.rows is not None]
    if last.rows is None or len(read) < 2:
        return last
    groups: list[list[Tensor]] = []
    for rows in reversed(read):  # rows of the last round come first
        free = list(range(len(groups)))
        for row in rows:
            places = [place for place in free if _alike(layout, groups[place][0], row)]
            if places:
                groups[places[0]].append(row)
                free.remove(places[0])
            else:
                groups.append([row])
    proven = last.certified if last.certified is not None else np.zeros(total, dtype=bool)
    order = sorted(range(len(groups)), key=lambda place: (place >= total or not proven[place], -len(groups[place])))
    kept = order[:total]
    rows = torch.stack([torch.stack(groups[place]).median(0).values for place in kept])
    certified = np.array([place < total and bool(proven[place]) for place in kept])
    firm = int(sum(2 * len(groups[place]) > len(read) for place in kept))
    return replace(
        last,
        rows=rows.float().numpy(),
        certified=certified,
        labels=None,
        doubt=None,
        note=f"{firm} of {total} rows were read alike in more than half of {len(read)} rounds. {last.note}",
    )


def _alike(layout: Layout, one: Tensor, other: Tensor) -> bool:
    pair = torch.stack([one, other])
    codes = codes_of(layout, pair)
    near = (one[: layout.numeric] - other[: layout.numeric]).abs() < NEAR
    return bool((codes[0] == codes[1]).all() and near.all())
