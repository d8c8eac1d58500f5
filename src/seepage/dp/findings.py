"""What was found about a privacy setting: typed, in plain sentences, each with a remedy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from seepage.dp.mechanisms import Mechanism

Severity = Literal["wrong", "doubtful", "right"]
SEVERITIES: tuple[Severity, ...] = ("wrong", "doubtful", "right")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Args:
        check: its name, one or two words.
        severity: ``wrong`` if the promise does not hold, ``doubtful`` if it hangs on something, ``right`` if it holds.
        sentence: what was found.
        remedy: what to do.
    """

    check: str
    severity: Severity
    sentence: str
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What one privacy setting is worth.

    Args:
        what, place: which it is, and where it stands.
        does: what really happens, in a sentence.
        protects: who or what is hidden, and what two neighbours are.
        delta: at which epsilon is stated.
        claimed: epsilon that is claimed for the whole run; None if nobody claims one.
        recomputed: epsilon of the whole run; infinite if there is no guarantee, None if something needed is not known.
        others: the same under other assumptions, each with its words.
        mechanism: what can be measured.
        findings: the gravest first.
    """

    what: str
    place: str
    does: str
    protects: str
    delta: float | None = None
    claimed: float | None = None
    recomputed: float | None = None
    others: tuple[tuple[str, float], ...] = ()
    mechanism: Mechanism | None = None
    findings: tuple[Finding, ...] = field(default_factory=tuple)

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong and epsilon was recomputed: what is not shown does not hold."""
        return self.recomputed is not None and all(each.severity != "wrong" for each in self.findings)


def ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    """The gravest first, else as they were found."""
    return tuple(sorted(findings, key=lambda each: SEVERITIES.index(each.severity)))


def plain(value: float | None) -> str:
    """A number as people read it: ``0.87``, ``5,100``, ``2.1e+08``, ``none`` for no guarantee.

    Example:
        >>> plain(5123.4), plain(0.8734), plain(2.1e8), plain(math.inf)
        ('5,123', '0.873', '2.1e+08', 'unbounded')
    """
    if value is None:
        return "not known"
    if math.isinf(value):
        return "unbounded"
    if value >= 1e6 or (0 < value < 1e-3):
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
