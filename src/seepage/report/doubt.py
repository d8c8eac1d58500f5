"""The attacker's own doubt beside the truth: how often cells are right, from the surest to the most doubted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seepage.report import words
from seepage.results import Interval, Kind
from seepage.results.row_numbers import DoubtNumbers

END = 0.05  # the surest and the most doubted cells are told of at least this share of all
ENOUGH = 20  # with fewer cells at an end, the ends are shown and nothing is concluded
TELLS = 0.10  # doubt that separates right from wrong by fewer points says little


@dataclass(frozen=True)
class DoubtBar:
    """The cells of one bucket of doubt."""

    label: str
    cells: int
    attack: Interval
    prior: Interval | None


@dataclass(frozen=True)
class End:
    """The cells at one end of the doubt, at least ``END`` of all."""

    buckets: int
    cells: int
    share: float
    attack: float
    prior: float | None


@dataclass(frozen=True)
class DoubtGroup:
    """The cells of one kind, the surest first."""

    kind: Kind
    title: str
    measure: str
    bars: tuple[DoubtBar, ...]

    @property
    def total(self) -> int:
        return sum(bar.cells for bar in self.bars)

    @property
    def surest(self) -> End:
        return _end(self.bars, self.total)

    @property
    def doubted(self) -> End:
        return _end(self.bars[::-1], self.total)

    @property
    def divided(self) -> bool:
        """Whether some cells are surer than others."""
        return self.surest.buckets + self.doubted.buckets <= len(self.bars)

    @property
    def sentence(self) -> str:
        """What the doubt is worth to the attacker."""
        return _sentence(self)


def groups_of(entries: Sequence[DoubtNumbers], *, standard: bool) -> tuple[DoubtGroup, ...]:
    """The cells of a setting by kind.

    Args:
        standard: numbers are scaled to deviations, so their spread is told in them.
    """
    spread = f"spread of the tries, in {'standard deviations' if standard else 'units of the model inputs'}"
    kinds: tuple[tuple[Kind, str, str], ...] = (
        ("categorical", "Categories", "doubt, from 0 (certain) to 1 (no idea)"),
        ("numeric", "Numbers", spread),
    )
    groups = (
        DoubtGroup(kind, title, measure, tuple(bar for entry in entries if entry.kind == kind and (bar := _bar(entry))))
        for kind, title, measure in kinds
    )
    return tuple(group for group in groups if group.bars)


def _bar(entry: DoubtNumbers) -> DoubtBar | None:
    low, high = entry.low, entry.high
    if entry.kind == "numeric":
        low, high = (None if end is None else _spread(end) for end in (low, high))
    return None if entry.attack is None else DoubtBar(_range(low, high), entry.cells, entry.attack, entry.prior)


def _spread(nats: float) -> float:
    """The standard deviation of a Gaussian of this entropy."""
    return math.exp(nats - 0.5 * math.log(2 * math.pi * math.e))


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"under {_short(high)}"
    return f"over {_short(low)}" if high is None else f"{_short(low)}–{_short(high)}"


def _short(value: float | None) -> str:
    return f"{round(value or 0.0, 2):g}"


def _end(bars: Sequence[DoubtBar], total: int) -> End:
    taken: list[DoubtBar] = []
    for bar in bars:
        taken.append(bar)
        if sum(each.cells for each in taken) >= END * total:
            break
    cells = sum(bar.cells for bar in taken)
    attack = sum(bar.cells * bar.attack.mean for bar in taken) / cells
    known = [bar.cells * bar.prior.mean for bar in taken if bar.prior]
    return End(len(taken), cells, cells / total, attack, sum(known) / cells if len(known) == len(taken) else None)


def _sentence(group: DoubtGroup) -> str:
    surest, doubted = group.surest, group.doubted
    which = "the surest cells" if group.divided else "them"
    guess = f" A guess from averages gets {words.percent(surest.prior)} of {which}."
    told = guess if surest.prior is not None else ""
    if not group.divided:
        return (
            f"The attacker is about equally sure of all {words.plural(group.total, 'cell')}: "
            f"{words.percent(surest.attack)} are right.{told}"
        )
    return (
        f"Of the cells the attacker is surest of ({words.percent(surest.share)} of all), "
        f"{words.percent(surest.attack)} are right; of those it doubts most ({words.percent(doubted.share)} of all), "
        f"{words.percent(doubted.attack)}.{told} {_conclusion(surest, doubted)}"
    )


def _conclusion(surest: End, doubted: End) -> str:
    if min(surest.attack, doubted.attack) >= 1 - TELLS:
        return "It is nearly always right, even where it doubts."
    if min(surest.cells, doubted.cells) < ENOUGH:
        return "These are too few cells to say whether its doubt can be relied on."
    easy = surest.prior is not None and surest.attack - surest.prior < TELLS
    if surest.attack - doubted.attack >= TELLS and easy:
        return "So it is right more often where it is sure, but those are cells that a guess gets about as well."
    if surest.attack - doubted.attack >= TELLS:
        return "So it knows which cells to believe, without ever seeing the truth."
    return "So its doubt says little here about which cells are right."
