"""What the attacker can trust without the truth: how often cells are right, by its own doubt about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage.report import words
from seepage.report.verdict import Leak
from seepage.results import ATTACK, PRIOR, Interval

END = 0.05  # the surest and the most doubted cells are told of at least this share of all
ENOUGH = 20  # with fewer cells at an end, the ends are shown and nothing is concluded
TELLS = 0.10  # doubt that separates right from wrong by fewer points says little


@dataclass(frozen=True)
class TrustBar:
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
class TrustGroup:
    """The cells of one kind, the surest first."""

    kind: str
    title: str
    measure: str
    bars: tuple[TrustBar, ...]

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
        return _sentence(self)


@dataclass(frozen=True)
class TrustRow:
    """One kind of cells in one setting."""

    number: int
    label: str
    group: TrustGroup


@dataclass(frozen=True)
class TrustView:
    """The setting that leaks most among those whose attacker knows its doubt."""

    number: int
    label: str
    groups: tuple[TrustGroup, ...]
    settings: tuple[TrustRow, ...]


def gather_trust(
    leaks: Sequence[Leak], cells: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> TrustView | None:
    """Doubt beside accuracy in the worst setting that has both; None when no attack tells its doubt.

    A setting in which the attacker is equally sure of everything explains nothing: others go before it.
    """
    known = [leak for leak in leaks if leak.measured and cells[leak.number - 1].get("doubt")]
    if not known:
        return None
    standard = settings.get("numbers", "standard") == "standard"
    groups = {leak.number: _groups(cells[leak.number - 1]["doubt"], standard) for leak in known}
    worst = max(known, key=lambda leak: (any(group.divided for group in groups[leak.number]), leak.rank))
    rows = tuple(TrustRow(leak.number, leak.label, group) for leak in known for group in groups[leak.number])
    return TrustView(worst.number, worst.label, groups[worst.number], rows)


def _groups(entries: Sequence[Mapping[str, Any]], standard: bool) -> tuple[TrustGroup, ...]:
    spread = f"spread of the tries, in {'standard deviations' if standard else 'units of the model inputs'}"
    kinds = (
        ("categorical", "Categories", "doubt, from 0 (certain) to 1 (no idea)"),
        ("numeric", "Numbers", spread),
    )
    found = (TrustGroup(*kind, tuple(_bar(entry) for entry in entries if entry["kind"] == kind[0])) for kind in kinds)
    return tuple(group for group in found if group.bars)


def _bar(entry: Mapping[str, Any]) -> TrustBar:
    attack = words.interval(entry[ATTACK])
    assert attack is not None  # a bucket has cells, and cells are right or wrong
    ends = [None if entry[end] is None else float(entry[end]) for end in ("low", "high")]
    if entry["kind"] == "numeric":
        ends = [None if end is None else _spread(end) for end in ends]
    return TrustBar(_range(ends[0], ends[1]), int(entry["cells"]), attack, words.interval(entry.get(PRIOR)))


def _spread(nats: float) -> float:
    """The standard deviation of a Gaussian of this entropy."""
    return math.exp(nats - 0.5 * math.log(2 * math.pi * math.e))


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"under {_short(high)}"
    return f"over {_short(low)}" if high is None else f"{_short(low)}–{_short(high)}"


def _short(value: float | None) -> str:
    return f"{round(value or 0.0, 2):g}"


def _end(bars: Sequence[TrustBar], total: int) -> End:
    taken: list[TrustBar] = []
    for bar in bars:
        taken.append(bar)
        if sum(each.cells for each in taken) >= END * total:
            break
    cells = sum(bar.cells for bar in taken)
    attack = sum(bar.cells * bar.attack.mean for bar in taken) / cells
    known = [bar.cells * bar.prior.mean for bar in taken if bar.prior]
    return End(len(taken), cells, cells / total, attack, sum(known) / cells if len(known) == len(taken) else None)


def _sentence(group: TrustGroup) -> str:
    surest, doubted = group.surest, group.doubted
    which = "the surest cells" if group.divided else "them"
    guess = f" A guess from the clients' own averages gets {words.percent(surest.prior)} of {which}."
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
