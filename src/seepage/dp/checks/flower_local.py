"""Flower's LocalDpMod: a client clips its update and adds noise to it before it sends it, in every round."""

from __future__ import annotations

import math

from seepage.dp.checks.common import (
    Open,
    claim_finding,
    delta_of,
    not_shown,
    number,
    open_findings,
    rounds_of,
    unit_findings,
)
from seepage.dp.findings import Finding, Verdict, ordered, plain
from seepage.dp.known import Facts
from seepage.dp.mechanisms import Gaussian
from seepage.dp.said import Said

PROTECTS = "all rows of a client (any two tables it may have), from the server"
DOES = "clips a client's update and adds Gaussian noise to it, in every round"


def check_local(said: Said, facts: Facts) -> Verdict:
    r"""What ``LocalDpMod(clipping_norm, sensitivity, epsilon, delta)`` is worth over all rounds.

    Flower 1.41 clips the update to ``clipping_norm`` and adds noise of deviation
    :math:`\text{sensitivity} \sqrt{2 \ln(1.25 / \delta)} / \varepsilon`: the clip has no part in it. Two updates that
    were clipped to :math:`C` are at most :math:`2 C` apart.
    """
    findings = [*open_findings(said), *unit_findings("client", facts)]
    try:
        clip, covered = number(said, "clipping_norm"), number(said, "sensitivity")
        asked, own = number(said, "epsilon"), number(said, "delta")
    except Open as missing:
        return not_shown(said, DOES, PROTECTS, findings, str(missing).strip("'"))
    if asked <= 0 or clip <= 0:
        broken = Finding(
            check="settings",
            severity="wrong",
            sentence=f"Epsilon is {asked:g} and the clip {clip:g}: Flower stops, or sends no numbers.",
            remedy="Both must be above 0.",
        )
        return not_shown(said, DOES, PROTECTS, [broken, *findings], "")
    delta = delta_of(facts, findings, own)
    rounds = rounds_of(facts, findings)
    noise = covered * math.sqrt(2 * math.log(1.25 / delta)) / asked
    apart = Gaussian(noise=noise, sensitivity=2 * clip, releases=rounds)
    present = Gaussian(noise=noise, sensitivity=clip, releases=rounds)
    recomputed, milder = apart.epsilon(delta), present.epsilon(delta)
    if not math.isfinite(clip):
        recomputed = milder = math.inf
    findings.append(_sensitivity(clip, covered))
    formula = Gaussian(noise=noise, sensitivity=covered).epsilon(delta) if covered > 0 else math.inf
    if math.isfinite(formula) and formula > asked * 1.001:
        findings.append(_formula(asked, formula))
    claimed = facts.claims if facts.claims is not None else asked
    if rounds > 1:
        findings.append(_composition(asked, rounds, apart, delta, facts.claims))
    findings.append(
        claim_finding(
            claimed,
            recomputed,
            if_only=milder,
            only="if a client that stays away counts as one that sends a zero update",
            remedy=f"Set sensitivity={plain(2 * clip)}, and claim the epsilon of all rounds.",
        )
    )
    return Verdict(
        what="LocalDpMod (Flower)",
        place=said.place,
        does=f"clips a client's update to norm {plain(clip)} and adds noise of deviation {plain(noise)} to every "
        f"number of it, in {'each of ' if rounds > 1 else ''}{rounds:,} round{'s' if rounds > 1 else ''}",
        protects=PROTECTS,
        delta=delta,
        claimed=claimed,
        recomputed=recomputed,
        others=(("if only whether a client took part is to be hidden", milder),),
        mechanism=apart if math.isfinite(clip) else None,
        findings=ordered(findings),
    )


def _sensitivity(clip: float, covered: float) -> Finding:
    if not math.isfinite(clip):
        return Finding(
            check="clip",
            severity="wrong",
            sentence="The clipping norm is infinite: updates can differ by any amount, and no noise covers that.",
            remedy="Clip to about the median norm of an update.",
        )
    if covered >= 2 * clip:
        return Finding(
            check="sensitivity",
            severity="right",
            sentence=f"The sensitivity is {plain(covered)}, and two updates clipped to {plain(clip)} differ by at most "
            f"{plain(2 * clip)}.",
        )
    times = math.inf if covered == 0 else 2 * clip / covered
    sentence = (
        f"The sensitivity is {plain(covered)}, but two updates clipped to {plain(clip)} can differ by "
        f"{plain(2 * clip)}: "
    )
    if covered >= clip:
        sentence += "the noise hides whether a client took part, not which of two tables it has."
    else:
        sentence += "there is no noise." if covered == 0 else f"the noise is {plain(times)} times too small."
    return Finding(
        check="sensitivity",
        severity="doubtful" if covered >= clip else "wrong",
        sentence=sentence,
        remedy=f"Set sensitivity={plain(2 * clip)}.",
    )


def _formula(asked: float, formula: float) -> Finding:
    return Finding(
        check="formula",
        severity="doubtful",
        sentence=f"Flower's formula for the noise is proven for an epsilon below 1; at {plain(asked)} it gives "
        f"{plain(formula)} for one message.",
        remedy="Take the noise of the analytic Gaussian mechanism, or a smaller epsilon.",
    )


def _composition(asked: float, rounds: int, apart: Gaussian, delta: float, claims: float | None) -> Finding:
    one = Gaussian(noise=apart.noise, sensitivity=apart.sensitivity).epsilon(delta)
    total = apart.epsilon(delta)
    sentence = f"One message costs epsilon {plain(one)}, {rounds:,} rounds together {plain(total)}."
    if claims is not None:
        return Finding(check="composition", severity="right", sentence=f"{sentence} The claim is for all of them.")
    return Finding(
        check="composition",
        severity="wrong" if total > asked * 1.05 else "right",
        sentence=f"epsilon={plain(asked)} is for one message. {sentence}",
        remedy="Divide the budget over rounds: epsilon is spent again in every one.",
    )
