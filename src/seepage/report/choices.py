"""The choices an engineer can make, each judged by the attack and the moment that leak most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import Outcome
from seepage.report import words
from seepage.report.leaks import Leak, worst_of
from seepage.report.level import Level
from seepage.results.cells import Coordinate
from seepage.results.result import Result
from seepage.results.strength import shortfall

MORE_MAY = "It used its whole budget, so a longer one may read more"
ATTACKERS = (
    "attack",
    "attack_point",
    "watched",
)  # coordinates that are the attacker's to choose; the rest is the engineer's


@dataclass(frozen=True, kw_only=True)
class ChoiceVerdict:
    """A choice, and the worst that was found there.

    Args:
        tested: its settings: every attack at every moment.
        broken: those whose attacks broke down. They might have read more.
        not_applicable: those whose attack cannot be mounted there, which is no gap.
        spent: whether the worst case is that of an attack that used its whole budget: a longer one may read more.
        weak: why the strongest applicable attack is not known to have been tried; empty if it was.
    """

    label: str
    worst: Leak | None
    tested: int
    broken: int
    not_applicable: int
    spent: bool = False
    weak: str = ""

    @property
    def apart(self) -> bool:
        """Whether it cannot be compared with the others: something broke down, or the attack was a weak one."""
        return self.worst is None or self.broken > 0 or bool(self.weak)

    @property
    def measured(self) -> int:
        return self.tested - self.broken - self.not_applicable

    @property
    def level(self) -> Level:
        return self.worst.level if self.worst else Level.NOT_MEASURED


def choices_of(leaks: Sequence[Leak]) -> tuple[ChoiceVerdict, ...]:
    """Every choice, the least leaking first; where an attack broke down or was a weak one, last."""
    groups: dict[tuple[tuple[str, Coordinate], ...], list[Leak]] = {}
    for leak in leaks:
        chosen = tuple((name, value) for name, value in leak.place.items() if name not in ATTACKERS)
        groups.setdefault(chosen, []).append(leak)
    names = words.varying([dict(chosen) for chosen in groups], otherwise=("batch_size",))
    choices = [_choice(words.label(dict(chosen), names), group) for chosen, group in groups.items()]
    return tuple(sorted(choices, key=lambda c: (c.apart, c.worst.rank if c.worst else ())))


def _choice(label: str, leaks: Sequence[Leak]) -> ChoiceVerdict:
    missing = [leak for leak in leaks if not leak.measured]
    broken = sum(leak.result.outcome != Outcome.NOT_APPLICABLE.code for leak in missing)
    worst = worst_of(leaks)
    return ChoiceVerdict(
        label=label,
        worst=worst,
        tested=len(leaks),
        broken=broken,
        not_applicable=len(missing) - broken,
        spent=worst is not None and worst.result.outcome == Outcome.BUDGET_SPENT.code and not worst.read_all,
        weak=_weak(leaks),
    )


def _weak(leaks: Sequence[Leak]) -> str:
    """Why the strongest attack was not tried at every moment; empty if it was."""
    moments: dict[Coordinate, list[Result]] = {}
    for leak in leaks:
        moments.setdefault(leak.place.get("attack_point", ""), []).append(leak.result)
    return next((why for cells in moments.values() if (why := shortfall(cells))), "")


def safest_of(leaks: Sequence[Leak]) -> ChoiceVerdict | None:
    """The least leaking choice; None if there is no other, or none that was measured without a gap."""
    choices = choices_of(leaks)
    first = choices[0] if len(choices) > 1 else None
    return first if first and not first.apart else None
