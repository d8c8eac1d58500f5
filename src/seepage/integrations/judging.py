"""The rule of a guard: what counting found or an attack read, held against the limits of the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seepage._core import Outcome
from seepage.attacks.applicability import PRESENCE, Finding
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, Measure
from seepage.results.gate import TOTALS, Limits
from seepage.results.tallies import PUBLIC, TALLYING

_READ = {
    "exact": "rows read back exactly",
    "emr": "rows read back nearly",
    "gain": "cells read beyond guessing",
    "presence": "categories told beyond guessing",
    "counts": "rows counted beyond guessing",
}


@dataclass(frozen=True)
class Objection:
    """Something against an update.

    Args:
        what: in words and rates, for the client itself.
        why: the same for the server: it names neither data nor numbers about them.
        weak: it is not known to leak; it could not be shown that it does not.
    """

    what: str
    why: str
    weak: bool = False


@dataclass(frozen=True)
class Answer:
    """How an attack on one update ended, and what it read, scored against the client's rows."""

    attack: str
    outcome: Outcome
    values: Mapping[Measure, float]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a guard makes of one update.

    Args:
        held: it must not leave.
        objections: why it is above the limits, or not known to be below.
        told: what was found, for the client's own log: counts and rates, no values.
        seconds: that it took.
    """

    held: bool
    objections: tuple[Objection, ...]
    told: tuple[str, ...]
    seconds: float = 0.0

    @property
    def reason(self) -> str:
        """For the server: why nothing comes, without a word about the data."""
        causes = " and ".join(dict.fromkeys(each.why for each in self.objections))
        return f"Seepage's guard of this client held its update back: {causes}. Its own log says more."


def by_counting(found: Sequence[Finding], limits: Limits) -> list[Objection]:
    """Objections by what algebra can do, without any row. The last finding, optimisation, can always be tried."""
    objections = []
    rows = [each for each in found[:-1] if each.what != PRESENCE]
    for names, parts, what in (
        (limits.of(totals=False), rows, "whole rows"),
        (limits.of(totals=True), [each for each in found if each.what == PRESENCE], "which categories occur"),
    ):
        if not names or min(names.values()) >= 1:
            continue
        verdicts = {each.verdict for each in parts}
        allowed = " and ".join(f"{_READ[name]}: {limit:.1%}" for name, limit in names.items())
        if "works" in verdicts:
            objections.append(Objection(f"by counting, {what} can be read (allowed are {allowed})", _why(what)))
        elif "partly" in verdicts:
            said = f"by counting, {what} may be read in part, and it was not measured (allowed are {allowed})"
            objections.append(Objection(said, _why(what, can="may"), weak=True))
    return objections


def by_attack(answers: Sequence[Answer], limits: Limits) -> list[Objection]:
    """Objections by what attacks read. What none of them could measure is one too."""
    objections: list[Objection] = []
    for totals in (False, True):
        names = limits.of(totals=totals)
        own = [each for each in answers if (each.attack.partition(":")[0] in TALLYING) == totals]
        for name, limit in names.items():
            what = "which categories occur" if totals else "rows"
            shares = [share for each in own if (share := _share(name, each)) is not None]
            if not shares:
                ends = ", ".join(f"{each.attack}: {each.outcome.code.replace('_', ' ')}" for each in own)
                said = f"{_READ[name]}: not measured ({ends or 'no attack finished in time'})"
                objections.append(Objection(said, f"whether {what} can be read from it was not measured", weak=True))
            elif max(shares) > limit:
                said = f"{max(shares):.1%} {_of(name)}{_READ[name]}; allowed are {limit:.1%}"
                objections.append(Objection(said, _why("rows" if not totals else what)))
    if limits.of(totals=False) and answers and not any(each.attack.partition(":")[0] == "exact" for each in answers):
        said = "the strongest attack on rows, exact, was not run or not finished in time"
        objections.append(Objection(said, "whether rows can be read from it was not measured", weak=True))
    broken = [each.attack for each in answers if each.outcome in (Outcome.FAILED, Outcome.DIVERGED)]
    if broken:
        said = f"{', '.join(broken)} failed, so what can be read is unknown"
        objections.append(Objection(said, "whether rows can be read from it was not measured", weak=True))
    return objections


def told_of(answer: Answer) -> str:
    """An attack's answer in one line, for the client's own log."""
    names = TOTALS if answer.attack.partition(":")[0] in TALLYING else ("exact", "emr", "gain")
    shares = {name: _share(name, answer) for name in names}
    read = ", ".join(f"{value:.1%} {_of(name)}{_READ[name]}" for name, value in shares.items() if value is not None)
    return f"{answer.attack} ({answer.seconds:.1f} s): {read or answer.outcome.code.replace('_', ' ')}"


def _of(name: str) -> str:
    return "" if name == "gain" else "of "


def _why(what: str, can: str = "can") -> str:
    return f"{what} {can} be read from it, more than the client allows"


def _share(name: str, answer: Answer) -> float | None:
    """One of the gate's measures of a single update."""
    values = answer.values

    def of(source: str, metric: str) -> float | None:
        return values.get(Measure(source, ALL_COLUMNS, metric))

    if name in ("exact", "emr"):
        return of(ATTACK, name)
    metric = {"gain": "accuracy", "presence": "presence", "counts": "count_error"}[name]
    ours = of(ATTACK, metric)
    guesses = [
        value for each in (BASELINES if name == "gain" else (PUBLIC,)) if (value := of(each, metric)) is not None
    ]
    if ours is None or not guesses:
        return None
    return min(guesses) - ours if name == "counts" else ours - max(guesses)
