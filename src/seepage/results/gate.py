"""A limit on leakage that a build can be stopped by.

A gate passes only what was shown: the strongest applicable attack was run whole on every choice, nothing failed, the
upper end of every interval is within the limit, and there were enough trials that more leakage would have been seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from seepage._core import InputError, Outcome
from seepage.results.cells import Coordinate
from seepage.results.interval import Interval
from seepage.results.result import ATTACKERS, Result
from seepage.results.strength import asked_for, shortfall
from seepage.results.summary import Summary

_READ = {
    "exact": "rows read exactly",
    "emr": "rows read nearly",
    "gain": "read beyond guessing",
    "presence": "categories told beyond guessing",
    "counts": "rows counted beyond guessing",
}
TOTALS = ("presence", "counts")  # limits on what attacks on totals read
FEW = 3  # trials that are enough where every one of them shows what leaks
MISSED = 0.05  # how often too much leakage may go unseen
FINEST = 0.01  # no number of trials shows a share of zero: it is shown to be below this

Choice = tuple[tuple[str, Coordinate], ...]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is still allowed, judged by the upper end of the interval.

    Args:
        exact: share of rows read back exactly: every cell equal.
        emr: share of rows read back nearly: every cell right by the papers' tolerance. Exact rows are among them.
        gain: share of cells (of a property: of models) read beyond the best guess.
        presence: share of categories that are rightly said to occur or not, beyond a guess from public marginals.
        counts: share of rows that are counted into the right category, beyond such a guess.
    """

    exact: float | None = None
    emr: float | None = None
    gain: float | None = None
    presence: float | None = None
    counts: float | None = None

    def __post_init__(self) -> None:
        if not self.given:
            raise InputError(
                "What is the limit? Say it with --max-exact, --max-emr, --max-gain, --max-presence, --max-counts or "
                "several of them."
            )
        for name, value in self.given.items():
            if not 0 <= value <= 1:
                raise InputError(f"--max-{name} is {value}; it is a share between 0 and 1.")

    @property
    def given(self) -> dict[str, float]:
        """The limits that were set, by the name of what they judge."""
        every = {name: getattr(self, name) for name in _READ}
        return {name: value for name, value in every.items() if value is not None}

    def of(self, *, totals: bool) -> dict[str, float]:
        """Those on attacks on totals, or the others."""
        return {name: value for name, value in self.given.items() if (name in TOTALS) == totals}


@dataclass(frozen=True)
class Breach:
    """A cell above a limit, or a choice of which too little is known.

    Args:
        weak: it is not known to leak; it was attacked too weakly or too seldom to say that it does not. This is what
            ``--accept-weak`` forgives.
    """

    cell: str
    what: str
    weak: bool = False


def breaches(summary: Summary, limits: Limits) -> list[Breach]:
    """Where leakage is above a limit, or was not shown to be below. What no attack could measure counts too."""
    found = list(_totals(summary, limits))
    if not limits.of(totals=False):
        return found
    for name in limits.of(totals=False):
        if summary.cells and not any(name in cell.judged for cell in summary.cells):
            others = sorted({each for cell in summary.cells for each in cell.judged})
            allowed = " or ".join(f"--max-{each}" for each in others)
            raise InputError(f"The study {summary.study} has no {_READ[name]} to judge (--max-{name}); use {allowed}.")
    for choice, cells in choices_of(summary).items():
        for cell in cells:
            found += _of_cell(cell, limits)
        if not any(cell.measured or _broke(cell) for cell in cells):
            found.append(Breach(label(dict(choice)), "no attack could be mounted, so nothing is known"))
        elif why := shortfall(cells):
            found.append(Breach(label(dict(choice)), why, weak=True))
    return found


def _totals(summary: Summary, limits: Limits) -> Iterator[Breach]:
    """Where attacks on totals read more than is allowed, or were not run."""
    cells: tuple[Result, ...] = getattr(summary, "tallies", ())
    for name, limit in limits.of(totals=True).items():
        judged = [cell for cell in cells if cell.attacker == name or name in cell.judged]
        if not judged:
            raise InputError(f"A limit on {_READ[name]} (--max-{name}) needs the attack {name}, which was not run.")
        for cell in judged:
            value = cell.judged.get(name)
            if value is None:
                yield Breach(said(cell), f"{_READ[name]}: not measured ({cell.outcome.replace('_', ' ')})")
            elif value.high is None:
                yield Breach(said(cell), f"one trial gives no interval to judge; {FEW} are needed", weak=True)
            elif value.high > limit:
                yield Breach(said(cell), f"{_sentence(name, value)}; allowed is {limit:.1%}")


def asked_attacks(summary: Summary) -> dict[str, int]:
    """The strongest applicable attacks by name, and on how many choices each is asked for."""
    names = [name for cells in choices_of(summary).values() if (name := asked_for(cells))]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def choices_of(summary: Summary) -> dict[Choice, list[Result]]:
    """The cells of every choice of the engineer: what attacks it is not part of it."""
    choices: dict[Choice, list[Result]] = {}
    for cell in summary.cells:
        choice = tuple((name, value) for name, value in cell.place.items() if name not in ATTACKERS)
        choices.setdefault(choice, []).append(cell)
    return choices


def _broke(cell: Result) -> bool:
    """Whether nothing was measured although the attack could be mounted."""
    return not cell.measured and cell.outcome != Outcome.NOT_APPLICABLE.code


def _of_cell(cell: Result, limits: Limits) -> Iterator[Breach]:
    """What stops a build in one cell."""
    failed = sum(cell.outcomes.get(outcome.code, 0) for outcome in (Outcome.FAILED, Outcome.DIVERGED))
    if failed:
        what = f"{failed} of {cell.trials} attacks failed or diverged, so what they read is unknown"
        yield Breach(said(cell), what)
    elif _broke(cell):
        yield Breach(said(cell), f"could not be measured ({cell.outcome.replace('_', ' ')})")
    if not cell.measured:
        return
    above = list(_above(cell, limits))
    yield from (Breach(said(cell), what) for what in above)
    if not above and (needed := _needed(cell, limits)) > (had := cell.trials - cell.failed):
        what = f"{had} trials are too few to show that no more than this limit leaks; {needed} are needed"
        yield Breach(said(cell), what, weak=True)


def _above(cell: Result, limits: Limits) -> Iterator[str]:
    """How a measured cell is above the limits."""
    for name, limit in limits.of(totals=False).items():
        value = cell.judged.get(name)
        if value is None:
            yield f"{_READ[name]}: not measured"
        elif value.high is None:
            yield f"one trial gives no interval to judge; {_needed(cell, limits)} are needed"
            return
        elif value.high > limit:
            yield f"{_sentence(name, value)}{_beside(cell, name)}; allowed is {limit:.1%}"


def _needed(cell: Result, limits: Limits) -> int:
    """Trials in which leakage above a limit would have been seen at least once, in all but one of twenty cases.

    A share of rows above the limit shows in at least as large a share of trials. A gain above the limit shows in fewer
    if a trial gives away all that guessing does not get.
    """
    if not cell.may_hide:
        return FEW
    most = {"exact": 1.0, "emr": 1.0, "gain": max(1 - cell.guess, FINEST)}
    rarest = min(max(limit, FINEST) / most[name] for name, limit in limits.of(totals=False).items())
    return 2 if rarest >= 1 - MISSED else max(2, math.ceil(math.log(MISSED) / math.log1p(-rarest)))


def _sentence(name: str, value: Interval) -> str:
    high = f"up to {value.high:.1%}"
    return f"{high} {_READ[name]}" if name == "gain" else f"{high} of {_READ[name]}"


def _beside(cell: Result, name: str) -> str:
    """Rows that were read nearly, beside those that were read exactly."""
    near = cell.judged.get("emr")
    if name != "exact" or near is None or near.high is None:
        return ""
    return f" (nearly: up to {near.high:.1%})"


def said(cell: Result) -> str:
    """A cell in one line."""
    return label(cell.place)


def label(place: dict[str, Coordinate]) -> str:
    """Coordinates in one line; what is not there is not said."""
    words = {
        "batch_size": "batch {}",
        "people": "{} rows",
        "batches": "{} batches",
        "classes": "{} ranges",
        "watched": "{} rounds",
    }
    words |= {"guests": "{} guests", "failure_probability": "{:.0%} absent"}
    parts = [
        words.get(name, "{}").format(value)
        for name, value in place.items()
        if value not in ("", "none", 0.0) and (name, value) not in (("phases", "both"), ("watched", 1))
    ]
    return ", ".join(parts)
