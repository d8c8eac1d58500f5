"""NVFlare's filters: the sparse vector technique, and filters that promise nothing."""

from __future__ import annotations

import math

from seepage.dp.checks.common import (
    Open,
    claim_finding,
    not_shown,
    number,
    open_findings,
    rounds_of,
    unit_findings,
)
from seepage.dp.findings import Finding, Verdict, ordered, plain
from seepage.dp.known import Facts
from seepage.dp.mechanisms import NoGuarantee, Pure
from seepage.dp.said import Said

PROTECTS = "all rows of a client (any two updates), from the server; numbers that are no arrays are sent as they are"
DOES = "clips every number of an update, sends a share of them, chosen and covered with Laplace noise"
# What each filter does, and why that is no differential privacy.
EMPTY = {
    "PercentilePrivacy": (
        "sends the largest changes of an update, cut off at gamma, and no others",
        "what is sent is sent without noise",
    ),
    "ExcludeVars": ("leaves layers out of an update", "the others are sent as they are"),
    "DXOBlocker": ("holds kinds of messages back", "what passes is sent as it is"),
    "StatisticsPrivacyFilter": (
        "withholds counts of few rows and blurs ranges of statistics",
        "its noise is not made for a sensitivity",
    ),
    "HEModelEncryptor": (
        "encrypts an update until it is added up",
        "the sum is not covered, and whoever decrypts reads it; encryption and differential privacy are two things",
    ),
}


def check_svt(said: Said, facts: Facts) -> Verdict:
    r"""What ``SVTPrivacy`` is worth over all rounds, as NVFlare 2.9 does it.

    Every number is clipped to gamma. ``epsilon`` pays for choosing which are sent; sending them costs
    ``epsilon_release``, which is, unless it is given, the number of values sent times ``noise_var``: with defaults a
    model of 10,000 numbers spends 0.1 on choosing and 100 on sending.
    """
    findings = [*open_findings(said), *unit_findings("client", facts)]
    try:
        asked, release = number(said, "epsilon"), _release(said, facts)
    except Open as missing:
        return not_shown(said, DOES, PROTECTS, findings, str(missing).strip("'"))
    if asked <= 0 or release <= 0:
        broken = Finding(
            check="settings",
            severity="wrong",
            sentence=f"Epsilon is {asked:g} and that of sending {release:g}: NVFlare stops.",
            remedy="Both must be above 0.",
        )
        return not_shown(said, DOES, PROTECTS, [broken, *findings], "")
    rounds = rounds_of(facts, findings)
    claimed = facts.claims if facts.claims is not None else asked
    mechanism = Pure(each=asked + release, releases=rounds)
    recomputed = mechanism.epsilon(0.0)
    over = release > asked * 0.05 and facts.claims is None
    findings.append(
        Finding(
            check="release",
            severity="wrong" if over else "right",
            sentence=f"epsilon={plain(asked)} pays for choosing which numbers are sent; sending them costs "
            f"{plain(release)} more.",
            remedy=f"Set epsilon_release, for example to {plain(asked)}, and claim the sum." if over else "",
        )
    )
    if rounds > 1:
        findings.append(
            Finding(
                check="composition",
                severity="right" if facts.claims is not None else "wrong",
                sentence=f"One message costs {plain(asked + release)}, {rounds:,} rounds {plain(recomputed)}.",
                remedy="" if facts.claims is not None else "Divide the budget over rounds: it is spent again in each.",
            )
        )
    findings.append(claim_finding(claimed, recomputed))
    return Verdict(
        what="SVTPrivacy (NVFlare)",
        place=said.place,
        does=f"clips every number of an update to {plain(number(said, 'gamma'))} a step and sends a share of "
        f"{number(said, 'fraction'):g} of them with Laplace noise, {rounds:,} round{'s' if rounds > 1 else ''}",
        protects=PROTECTS,
        delta=0.0,
        claimed=claimed,
        recomputed=recomputed,
        mechanism=mechanism,
        findings=ordered(findings),
    )


def _release(said: Said, facts: Facts) -> float:
    """What sending costs in one message."""
    if said.values.get("epsilon_release") is not None or "epsilon_release" in said.unclear:
        return number(said, "epsilon_release")
    size = facts.count("parameters")
    if size is None:
        raise Open(f"--parameters: sending costs {number(said, 'noise_var'):g} for every number that is sent")
    return math.ceil(size * min(1.0, number(said, "fraction"))) * number(said, "noise_var")


def check_empty(said: Said, facts: Facts, alone: bool) -> Verdict:
    """A filter that promises nothing; wrong if nothing else stands beside it."""
    does, why = EMPTY[said.kind]
    called = "Its name says privacy, but it" if "Privacy" in said.kind else "It"
    finding = Finding(
        check="no guarantee",
        severity="wrong" if alone else "doubtful",
        sentence=f"{called} has no epsilon at all: {why}.",
        remedy="Add noise that is made for a clip: SVTPrivacy with epsilon_release, or DP-SGD at the clients."
        if alone
        else "Nothing, as long as the claim stands on the other mechanism alone.",
    )
    return Verdict(
        what=f"{said.kind} (NVFlare)",
        place=said.place,
        does=does,
        protects="nothing that can be stated",
        claimed=facts.claims if alone else None,
        recomputed=math.inf,
        mechanism=NoGuarantee(),
        findings=(finding,),
    )
