"""Flower's strategies: clients' updates are clipped, and the server adds noise to their mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seepage._core import InputError
from seepage.dp.checks.common import (
    Open,
    claim_finding,
    count,
    delta_of,
    not_shown,
    number,
    open_findings,
    rounds_of,
    unit_findings,
)
from seepage.dp.findings import Finding, Verdict, ordered, plain
from seepage.dp.known import Facts
from seepage.dp.mechanisms import Gaussian, Sampled
from seepage.dp.said import Said

PROTECTS = "all rows of a client (one client more or less), from those who get the model; not from the server"
DOES = "clips clients' updates, and the server adds Gaussian noise to their mean"
_MODS = {
    "DifferentialPrivacyClientSideFixedClipping": "fixedclipping_mod",
    "DifferentialPrivacyClientSideAdaptiveClipping": "adaptiveclipping_mod",
    "DPFedAvgFixed": "DPFedAvgNumPyClient",
    "DPFedAvgAdaptive": "DPFedAvgNumPyClient",
}


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """A strategy's numbers.

    Args:
        asked: the noise multiplier that was asked for.
        worth: what all that is released in a round is worth, as a multiplier.
        clip: the norm, or the first of it.
        sampled: clients in a round.
    """

    asked: float
    worth: float
    clip: float
    sampled: int


def check_central(said: Said, facts: Facts) -> Verdict:
    """What a strategy with differential privacy is worth over all rounds.

    Flower adds noise of ``noise_multiplier * clip / num_sampled_clients`` to the mean: the multiplier times the clip on
    the sum. It draws a fixed number of clients and knows who they are, so no sampling is counted.
    """
    findings = [*open_findings(said), *unit_findings("client", facts), *_around(said, facts)]
    if facts.count("sampled") is not None and "num_sampled_clients" in said.values:
        raise InputError(f"num_sampled_clients stands in {said.place}; --sampled would say it twice.")
    try:
        setting = _setting(said, facts, findings)
    except Open as missing:
        return not_shown(said, DOES, PROTECTS, list(ordered(findings)), str(missing).strip("'"))
    delta = delta_of(facts, findings)
    rounds = rounds_of(facts, findings, what="one round")
    if said.values.get("server_side_noising") is False:
        return _divided(said, facts, setting, delta, rounds, findings)
    findings.append(_server(facts))
    if setting.asked == 0:
        findings.append(_no_noise())
    mechanism = Gaussian(noise=setting.worth, sensitivity=1.0, releases=rounds)
    recomputed = mechanism.epsilon(delta) if math.isfinite(setting.clip) else math.inf
    others = [("if a client is exchanged for another", _exchanged(setting, rounds).epsilon(delta))]
    clients, amplified = facts.count("clients"), None
    if clients and clients > setting.sampled:
        drawn = Sampled(multiplier=setting.worth, rate=setting.sampled / clients, steps=rounds)
        amplified = drawn.epsilon(delta)
        others.append(("if clients were drawn by Poisson sampling, in secret", amplified))
        findings.append(_drawn(setting.sampled, clients, amplified, recomputed))
    elif clients and clients < setting.sampled:
        raise InputError(f"num_sampled_clients in {said.place} is {setting.sampled}, and there are {clients} clients.")
    findings.append(_composition(recomputed, rounds, said))
    only = "if clients were drawn by Poisson sampling, in secret"
    findings.append(claim_finding(facts.claims, recomputed, if_only=amplified, only=only))
    return Verdict(
        what=f"{said.kind} (Flower)",
        place=said.place,
        does=f"clips updates of {setting.sampled:,} clients to norm {plain(setting.clip)}, and the server adds noise "
        f"of deviation {plain(setting.asked * setting.clip / setting.sampled)} to their mean, {rounds:,} "
        f"round{'s' if rounds > 1 else ''}",
        protects=PROTECTS,
        delta=delta,
        claimed=facts.claims,
        recomputed=recomputed,
        others=tuple(others),
        mechanism=mechanism,
        findings=ordered(findings),
    )


def _exchanged(setting: _Setting, rounds: int) -> Gaussian:
    return Gaussian(noise=setting.worth, sensitivity=2.0, releases=rounds)


def _setting(said: Said, facts: Facts, findings: list[Finding]) -> _Setting:
    asked, told = number(said, "noise_multiplier"), facts.count("sampled")
    sampled = count(said, "num_sampled_clients") if told is None else told
    name = next(each for each in ("clipping_norm", "initial_clipping_norm", "clip_norm", "init_clip_norm") if each in
                said.values or each in said.unclear)  # fmt: skip
    clip = number(said, name)
    if clip == 0:
        raise InputError(f"{name} in {said.place} is 0; it must be above 0.")
    if not math.isfinite(clip):
        findings.append(
            Finding(
                check="clip",
                severity="wrong",
                sentence=f"{name} is infinite: a client can move the mean by any amount, and no noise covers that.",
                remedy="Clip to about the median norm of an update.",
            )
        )
    worth = asked
    if "adaptive" in said.kind.lower() and asked > 0:
        worth = _adaptive(said, asked, sampled, findings)
    worth *= _really(facts, sampled, findings)
    return _Setting(asked=asked, worth=worth, clip=clip, sampled=sampled)


def _really(facts: Facts, sampled: int, findings: list[Finding]) -> float:
    """By how much the noise of a mean is too small, if fewer clients take part than it was divided by."""
    clients, fraction = facts.count("clients"), facts.numbers.get("fraction")
    if clients is None or fraction is None or (drawn := max(2, int(clients * fraction))) >= sampled:
        return 1.0
    findings.append(
        Finding(
            check="sampled clients",
            severity="wrong",
            sentence=f"The noise is divided by {sampled:,} clients, and a fraction of {fraction:g} of {clients:,} is "
            f"{drawn:,}: the noise on their mean is {plain(sampled / drawn)} times too small.",
            remedy=f"Set num_sampled_clients={drawn}, or draw {sampled:,} (min_fit_clients, min_train_nodes).",
        )
    )
    return drawn / sampled


def _adaptive(said: Said, asked: float, sampled: int, findings: list[Finding]) -> float:
    """The multiplier that updates and the noisy count of clipped clients are worth together."""
    name = "clipped_count_stddev" if "clipped_count_stddev" in said.values else "clip_count_stddev"
    given = said.values.get(name)
    deviation = number(said, name) if given is not None or name in said.unclear else sampled / 20
    if asked >= 2 * deviation:
        findings.append(
            Finding(
                check="adaptive clip",
                severity="wrong",
                sentence=f"The count of clipped clients gets noise of deviation {plain(deviation)}, and a noise "
                f"multiplier of {plain(asked)} needs more than {plain(asked / 2)} there: Flower stops.",
                remedy="Sample more clients, or raise clipped_count_stddev.",
            )
        )
        return asked
    updates = asked / math.sqrt(1 - (asked / (2 * deviation)) ** 2)
    # The paper counts -1/2 and 1/2, so that a client moves the count by 1/2; Flower counts 0 and 1.
    worth = updates / math.sqrt(1 + (updates / deviation) ** 2)
    findings.append(
        Finding(
            check="adaptive clip",
            severity="doubtful" if worth < asked / 1.05 else "right",
            sentence="The clip follows a noisy count, which costs too: a client moves Flower's count by 1, and the "
            f"noise of deviation {plain(deviation)} on it is made for 1/2. A multiplier of {plain(asked)} is worth "
            f"{plain(worth)}.",
            remedy=f"Raise {name} to {plain(4 * asked)} or more." if worth < asked / 1.05 else "",
        )
    )
    return worth


def _around(said: Said, facts: Facts) -> list[Finding]:
    found = []
    mod = _MODS.get(said.kind)
    if mod is not None and mod not in facts.seen:
        found.append(
            Finding(
                check="clip",
                severity="doubtful",
                sentence=f"Clients clip with {mod}, and none of the files given uses it: without it nothing is "
                "clipped.",
                remedy=f"Give the client's file too, with {mod} among its mods.",
            )
        )
    if said.values.get("accountant") is None:
        found.append(
            Finding(
                check="weights",
                severity="doubtful",
                sentence="FedAvg weighs clients by their rows: one with more than its share moves the mean by more "
                "than the noise is made for.",
                remedy="Let all clients report the same number of examples"
                + ("; with accountant=... Flower checks it." if "accountant" in said.values else "."),
            )
        )
    return found


def _server(facts: Facts) -> Finding:
    if facts.against == "outsiders":
        return Finding(
            check="server",
            severity="right",
            sentence="The server sees updates without noise, and nobody claims otherwise.",
        )
    return Finding(
        check="server",
        severity="wrong" if facts.against == "server" else "doubtful",
        sentence="The server adds the noise, after it has seen what clients sent: it is no protection from the server.",
        remedy="Noise at the clients (LocalDpMod, Opacus), or say that outsiders are meant: --against outsiders.",
    )


def _no_noise() -> Finding:
    return Finding(
        check="noise",
        severity="wrong",
        sentence="The noise multiplier is 0: updates are clipped, and nothing covers them.",
        remedy="Set noise_multiplier; about 1 is usual.",
    )


def _drawn(sampled: int, clients: int, amplified: float, recomputed: float) -> Finding:
    return Finding(
        check="sampling",
        severity="doubtful",
        sentence=f"{sampled:,} of {clients:,} clients take part in a round, a fixed number, and the server knows who. "
        f"Drawn by Poisson sampling, in secret, it would be {plain(amplified)}; {plain(recomputed)} needs no such "
        "thing.",
        remedy="State the number without sampling.",
    )


def _composition(recomputed: float, rounds: int, said: Said) -> Finding:
    if said.values.get("accountant") is not None or rounds == 1:
        return Finding(check="composition", severity="right", sentence=f"{rounds:,} rounds are counted.")
    return Finding(
        check="composition",
        severity="right",
        sentence=f"{rounds:,} rounds add up to epsilon {plain(recomputed)}; Flower itself counts nothing here.",
    )


def _divided(
    said: Said, facts: Facts, setting: _Setting, delta: float, rounds: int, findings: list[Finding]
) -> Verdict:
    """Each client adds its share of the noise: enough in the sum, too little in each message."""
    share = setting.asked / math.sqrt(setting.sampled)
    alone = Gaussian(noise=share, sensitivity=2.0, releases=rounds)
    recomputed = alone.epsilon(delta)
    summed = Gaussian(noise=setting.asked, sensitivity=1.0, releases=rounds).epsilon(delta)
    hidden = bool({"secaggplus_mod", "secagg_mod"} & facts.seen)
    findings.append(
        Finding(
            check="divided noise",
            severity="right" if hidden else "wrong",
            sentence=f"Each client adds only its share of the noise, a multiplier of {plain(share)} instead of "
            f"{plain(setting.asked)}: "
            + ("the server sees the sum only." if hidden else "the server sees each message."),
            remedy="" if hidden else "Use secure aggregation, or the whole noise at each client.",
        )
    )
    best = summed if hidden else recomputed
    only = "in the sum of all clients"
    findings.append(claim_finding(facts.claims, best, if_only=summed, only=only))
    return Verdict(
        what=f"{said.kind} (Flower)",
        place=said.place,
        does=f"clips a client's update to norm {plain(setting.clip)} and adds noise of deviation "
        f"{plain(share * setting.clip)} to it, {rounds:,} rounds",
        protects="all rows of a client, from the server",
        delta=delta,
        claimed=facts.claims,
        recomputed=best,
        others=((only, summed),),
        mechanism=alone if not hidden else None,
        findings=ordered(findings),
    )
