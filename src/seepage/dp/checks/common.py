"""What every check asks: numbers of an argument, delta, the claim, the unit, whom it protects from."""

from __future__ import annotations

import math

from seepage._core import InputError
from seepage._core.errors import shown
from seepage.dp.findings import Finding, Severity, Verdict, plain
from seepage.dp.known import Facts
from seepage.dp.said import Said

DELTA = 1e-5  # where nobody says one
NEAR = 1.05  # accountants differ by a few percent; a claim within that is met
HOLLOW = 100.0  # epsilon above which nothing is promised that anybody would notice
WEAK = 10.0


class Open(Exception):
    """An argument that the check needs is not known; not an error of the user's."""


def number(said: Said, name: str) -> float:
    """A number of an argument; :class:`Open` if the file leaves it open."""
    if name in said.unclear:
        raise Open(name)
    value = said.values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} of {said.kind} in {said.place} is {shown(value)}; it must be a number.")
    if math.isnan(value) or value < 0:
        raise InputError(f"{name} of {said.kind} in {said.place} is {value:g}; it must be 0 or above.")
    return float(value)


def count(said: Said, name: str) -> int:
    """A whole number of an argument, 1 or above."""
    value = number(said, name)
    if value < 1 or not math.isfinite(value) or value != int(value):
        raise InputError(f"{name} of {said.kind} in {said.place} is {value:g}; it must be a whole number, 1 or above.")
    return int(value)


def open_findings(said: Said) -> list[Finding]:
    """One doubt for every argument that cannot be read, with its line."""
    return [
        Finding(
            check=name.replace("_", " "),
            severity="doubtful",
            sentence=f"{name} is {each.text}" + (f" (line {each.line})" if each.line else "") + f": {each.why}.",
            remedy=f"Say it: --set {name}=...",
        )
        for name, each in said.unclear.items()
    ] + [
        Finding(check=name.replace("_", " "), severity="doubtful", sentence=f"{name} {why}.", remedy="Check what runs.")
        for name, why in said.assumed.items()
    ]


def delta_of(facts: Facts, findings: list[Finding], own: float | None = None) -> float:
    """The delta at which epsilon is stated: the setting's own, or that of the options, or the usual one, said so."""
    if own is not None and facts.delta is not None and own != facts.delta:
        raise InputError(f"Delta is {own:g} in the file and {facts.delta:g} by --delta or elsewhere; say it once.")
    delta = own if own is not None else facts.delta
    if delta is None:
        findings.append(
            Finding(
                check="delta",
                severity="doubtful",
                sentence=f"Nobody says delta; {DELTA:g} is taken.",
                remedy="Say it: --delta, below 1 over the number of people.",
            )
        )
        return DELTA
    if not 0 < delta < 1:
        raise InputError(f"Delta is {delta:g}; it must be above 0 and below 1.")
    people = max(facts.count("rows") or 0, facts.count("clients") or 0)
    if people:
        word = "rows" if people == facts.count("rows") else "clients"
        high = delta > 1 / people
        findings.append(
            Finding(
                check="delta",
                severity="wrong" if high else "right",
                sentence=f"Delta is {delta:g}, {'above' if high else 'not above'} 1 over {people:,} {word}"
                + (": handing out one of them whole would be allowed." if high else "."),
                remedy=f"Take a delta well below {1 / people:.1g}." if high else "",
            )
        )
    return delta


def rounds_of(facts: Facts, findings: list[Finding], *, what: str = "one message") -> int:
    """Rounds; one if nobody says, and it is said."""
    rounds = facts.count("rounds")
    if rounds is None:
        findings.append(
            Finding(
                check="composition",
                severity="doubtful",
                sentence=f"Nobody says how many rounds there are: epsilon is that of {what}.",
                remedy="Say it: --rounds; epsilons of rounds add up.",
            )
        )
    return rounds or 1


def claim_finding(
    claimed: float | None,
    recomputed: float,
    *,
    if_only: float | None = None,
    only: str = "",
    remedy: str = "Claim what was recomputed, or add noise.",
) -> Finding:
    """Whether the claim holds.

    Args:
        if_only: epsilon under a friendlier assumption, and ``only`` its words.
    """
    if claimed is None:
        severity: Severity = "wrong" if recomputed > HOLLOW else "doubtful" if recomputed > WEAK else "right"
        worth = {"wrong": "that promises nothing", "doubtful": "that is little", "right": "nobody claims less"}[
            severity
        ]
        remedy = "More noise, fewer rounds or larger batches." if severity != "right" else ""
        return Finding(
            check="claim", severity=severity, sentence=f"Epsilon is {plain(recomputed)}: {worth}.", remedy=remedy
        )
    said = f"Claimed is epsilon {plain(claimed)}, "
    if recomputed <= claimed * NEAR:
        return Finding(check="claim", severity="right", sentence=f"{said}recomputed {plain(recomputed)}: not more.")
    if if_only is not None and if_only <= claimed * NEAR:
        sentence = f"{said}which holds only {only} ({plain(if_only)}); else it is {plain(recomputed)}."
        return Finding(check="claim", severity="doubtful", sentence=sentence, remedy=remedy)
    return Finding(check="claim", severity="wrong", sentence=f"{said}recomputed {plain(recomputed)}.", remedy=remedy)


def unit_findings(unit: str, facts: Facts) -> list[Finding]:
    """Whether the claim is about what the mechanism hides."""
    if facts.unit is None or facts.unit == unit:
        return []
    if unit == "client":  # hiding all rows of a client hides each of them
        return [Finding(check="unit", severity="right", sentence="All rows of a client are hidden, so each row is.")]
    rows = facts.count("rows")
    times = f"up to {rows:,} times" if rows else "as many times as it has rows"
    return [
        Finding(
            check="unit",
            severity="wrong",
            sentence=f"One row is hidden, not a client: the epsilon of a client is {times} higher.",
            remedy="Claim it for a row, or clip and noise whole updates.",
        )
    ]


def not_shown(said: Said, does: str, protects: str, findings: list[Finding], missing: str) -> Verdict:
    """A verdict without an epsilon, since something it needs is not known."""
    if missing:
        findings = [
            *findings,
            Finding(
                check="epsilon",
                severity="doubtful",
                sentence=f"Epsilon cannot be recomputed without {missing}.",
                remedy="Say what is missing: see the options below 'What the files do not say', and --set.",
            ),
        ]
    return Verdict(
        what=f"{said.kind} ({said.framework})",
        place=said.place,
        does=does,
        protects=protects,
        findings=tuple(findings),
    )
