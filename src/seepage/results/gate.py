"""A limit on leakage that a build can be stopped by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seepage._core import InputError, Outcome
from seepage.results.cells import Coordinate
from seepage.results.interval import Interval
from seepage.results.summary import Result, Summary

ATTACKERS = ("attack", "loss", "reader", "hierarchy")  # coordinates that the attacker chooses
_READ = {"emr": "rows read exactly", "gain": "read beyond guessing"}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is still allowed, judged by the upper end of the interval.

    Args:
        emr: share of rows read back exactly.
        gain: share of cells (of a property: of models) read beyond the best guess.
    """

    emr: float | None = None
    gain: float | None = None

    def __post_init__(self) -> None:
        if self.emr is None and self.gain is None:
            raise InputError("What is the limit? Say it with --max-emr, --max-gain or both.")
        for name, value in self.given.items():
            if not 0 <= value <= 1:
                raise InputError(f"--max-{name} is {value}; it is a share between 0 and 1.")

    @property
    def given(self) -> dict[str, float]:
        """The limits that were set, by the name of what they judge."""
        both = {"emr": self.emr, "gain": self.gain}
        return {name: value for name, value in both.items() if value is not None}


@dataclass(frozen=True)
class Breach:
    """A cell above a limit, or a choice of which nothing is known."""

    cell: str
    what: str


def breaches(summary: Summary, limits: Limits) -> list[Breach]:
    """Where leakage is above a limit. What no attack could measure is no evidence of privacy, so it counts too."""
    for name in limits.given:
        if summary.cells and not any(name in cell.judged for cell in summary.cells):
            others = sorted({each for cell in summary.cells for each in cell.judged})
            allowed = " or ".join(f"--max-{each}" for each in others)
            raise InputError(f"The study {summary.study} has no {_READ[name]} to judge (--max-{name}); use {allowed}.")
    found: list[Breach] = []
    measured: dict[tuple[tuple[str, Coordinate], ...], bool] = {}
    for cell in summary.cells:
        choice = tuple((name, value) for name, value in cell.place.items() if name not in ATTACKERS)
        failed = sum(cell.outcomes.get(outcome.code, 0) for outcome in (Outcome.FAILED, Outcome.DIVERGED))
        broke = not cell.measured and cell.outcome != Outcome.NOT_APPLICABLE.code
        measured[choice] = measured.get(choice, False) or cell.measured or broke
        if failed:
            what = f"{failed} of {cell.trials} attacks failed or diverged, so what they read is unknown"
            found.append(Breach(said(cell), what))
        elif broke:
            found.append(Breach(said(cell), f"could not be measured ({cell.outcome.replace('_', ' ')})"))
        if cell.measured:
            found += [Breach(said(cell), what) for what in _above(cell, limits)]
    nothing = "no attack could be mounted, so nothing is known"
    return found + [Breach(label(dict(choice)), nothing) for choice, known in measured.items() if not known]


def _above(cell: Result, limits: Limits) -> Iterator[str]:
    """How a measured cell is above the limits."""
    for name, limit in limits.given.items():
        value = cell.judged.get(name)
        if value is None:
            yield f"{_READ[name]}: not measured"
        elif value.high is None:
            yield "one trial gives no interval to judge; raise trials"
            return
        elif value.high > limit:
            yield f"{_sentence(name, value)}; allowed is {limit:.1%}"


def _sentence(name: str, value: Interval) -> str:
    high = f"up to {value.high:.1%}"
    return f"{high} of rows read exactly" if name == "emr" else f"{high} read beyond guessing"


def said(cell: Result) -> str:
    """A cell in one line."""
    return label(cell.place)


def label(place: dict[str, Coordinate]) -> str:
    """Coordinates in one line; what is not there is not said."""
    words = {"batch_size": "batch {}", "people": "{} people", "batches": "{} batches", "classes": "{} ranges"}
    words |= {"guests": "{} guests", "failure_probability": "{:.0%} absent"}
    parts = [
        words.get(name, "{}").format(value)
        for name, value in place.items()
        if value not in ("", "none", 0.0) and (name, value) != ("phases", "both")
    ]
    return ", ".join(parts)
