"""What was read in each round of a capture, client by client, and what the rounds before it had given already.

Rows are never stored, so a row that is certified in two rounds cannot be told from two rows. What several rounds add
lies between the best round alone and the sum of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from seepage.results.captured_totals import SAID_PRESENT, SO_FAR
from seepage.results.cells import coordinates
from seepage.results.facts import Facts
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.trials import Trials


class CapturedRound(Facts):
    """One attack on one update of one client."""

    sender: str
    round: int
    attack: str
    variant: str = ""
    rows: Annotated[int, Field(description="rows behind the update")]
    outcome: str
    certified: Annotated[int | None, Field(description="rows that the attack proves; null if it proves none")] = None
    present: Annotated[int | None, Field(description="categories that it says somebody has")] = None
    present_so_far: Annotated[
        int | None, Field(description="that it said so of in this round, or in an earlier one of the client")
    ] = None


def captured_rounds(every: Sequence[Trials]) -> tuple[CapturedRound, ...]:
    """One entry for each attack on each captured update, in the order of the rounds; simulations are left out."""
    found = [entry for trials in every for entry in _entries(trials)]
    return tuple(sorted(found, key=lambda each: each.round))


def _entries(trials: Trials) -> Iterable[CapturedRound]:
    place = coordinates(trials.cell)
    if place.get("origin") != "captured" or place.get("watched", 1) != 1:  # joined rounds are no round by itself
        return
    shares = _values(trials, "certified")
    present, so_far = _values(trials, SAID_PRESENT), _values(trials, SO_FAR)
    for line, head in enumerate(trials.heads.iter_rows(named=True)):
        rows = int(head["rows"])
        yield CapturedRound(
            sender=str(place["sender"]),
            round=int(head["round"]),
            attack=str(place["attack"]),
            variant=str(place["variant"]),
            rows=rows,
            outcome=str(head["outcome"]),
            certified=_whole(shares[line] * rows),
            present=_whole(present[line]),
            present_so_far=_whole(so_far[line]),
        )


def _values(trials: Trials, metric: str) -> np.ndarray:
    """(trials,) a number of each; NaN where there is none."""
    found = np.full(len(trials.scored), np.nan)
    found[trials.scored] = trials.column(Measure(ATTACK, ALL_COLUMNS, metric))
    return found


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else round(float(value))


@dataclass(frozen=True, kw_only=True)
class RoundTotal:
    """All clients of one round together, by the best attack on each update, and all rounds up to it.

    Args:
        round: its number.
        updates: attacked in it.
        rows: behind them.
        certified: rows that were proven in it; None if no attack that could be mounted proves anything.
        certified_sum: the sum over the rounds so far: a row that was proven twice is counted twice.
        certified_best: for each client its best round so far, added up: so many different rows at least, if no two
            clients have the same.
        present_so_far: categories that somebody was said to have so far, client by client, added up.
        present_new: those of them that no earlier round had given.
    """

    round: int
    updates: int
    rows: int
    certified: int | None
    certified_sum: int | None
    certified_best: int | None
    present_so_far: int | None
    present_new: int | None


def round_totals(every: Sequence[CapturedRound]) -> tuple[RoundTotal, ...]:
    """Round by round. Of several attacks on an update the one that proves most counts."""
    totals: list[RoundTotal] = []
    best: dict[str, int] = {}
    listed: dict[str, int] = {}
    added, before = 0, 0
    for number in sorted({each.round for each in every}):
        own = [each for each in every if each.round == number]
        updates = {each.sender: each.rows for each in own}
        proven = _most(own, "certified")
        for sender, rows in proven.items():
            best[sender] = max(best.get(sender, 0), rows)
        for sender, count in _most(own, "present_so_far").items():
            listed[sender] = max(listed.get(sender, 0), count)
        added += sum(proven.values())
        present = sum(listed.values()) if listed else None
        totals.append(
            RoundTotal(
                round=number,
                updates=len(updates),
                rows=sum(updates.values()),
                certified=sum(proven.values()) if proven else None,
                certified_sum=added if best else None,
                certified_best=sum(best.values()) if best else None,
                present_so_far=present,
                present_new=None if present is None else present - before,
            )
        )
        before = present or 0
    return tuple(totals)


def _most(every: Sequence[CapturedRound], name: str) -> dict[str, int]:
    """The highest number of each client; those without one are left out."""
    found: dict[str, int] = {}
    for each in every:
        value = getattr(each, name)
        if value is not None:
            found[each.sender] = max(found.get(each.sender, 0), value)
    return found
