"""A section ``[dp]``: any framework, said in plain words."""

from __future__ import annotations

import math

from seepage._core import InputError
from seepage.dp.checks.common import Open, claim_finding, delta_of, not_shown, number, rounds_of, unit_findings
from seepage.dp.findings import Finding, Verdict, ordered, plain
from seepage.dp.known import Facts
from seepage.dp.mechanisms import Gaussian, Laplace, Mechanism, NoGuarantee, Sampled
from seepage.dp.said import Said


def check_own(said: Said, facts: Facts) -> Verdict:
    """What a section ``[dp]`` is worth over all rounds."""
    values = said.values
    unit, kind = str(values["unit"]), str(values["mechanism"])
    who = "one row of a client" if unit == "row" else "all rows of a client"
    from_whom = "the server" if values["added_by"] == "client" else "those who get the model; not from the server"
    protects, does = f"{who}, from {from_whom}", f"adds {kind.capitalize()} noise"
    findings = unit_findings(unit, facts) + _norms(said)
    if facts.claims is not None and "epsilon" in values:
        raise InputError(f"epsilon stands in {said.place}, and --claims says {facts.claims:g}; leave --claims out.")
    claimed = number(said, "epsilon") if "epsilon" in values else facts.claims
    if kind == "none":
        findings.append(_nothing())
        return Verdict(
            what="[dp]", place=said.place, does="adds no noise", protects="nothing that can be stated", claimed=claimed,
            recomputed=math.inf, mechanism=NoGuarantee(), findings=ordered(findings),
        )  # fmt: skip
    delta = delta_of(facts, findings)
    rounds = rounds_of(facts, findings, what="one round")
    if values["added_by"] == "server":
        findings.append(_server(facts))
    try:
        noise, sensitivity = _noise(said), _sensitivity(said, facts, findings)
        mechanism, others = _mechanism(said, facts, noise / _share(said, findings), sensitivity, rounds)
    except Open as missing:
        return not_shown(said, does, protects, list(ordered(findings)), str(missing))
    if noise == 0:
        findings.append(
            Finding(check="noise", severity="wrong", sentence="There is no noise.", remedy="Set noise above 0.")
        )
    recomputed = mechanism.epsilon(delta)
    if values["epsilon_of"] == "round" and claimed is not None and rounds > 1:
        findings.append(
            Finding(
                check="composition",
                severity="wrong",
                sentence=f"epsilon={plain(claimed)} is for one round; {rounds:,} rounds cost {plain(recomputed)}.",
                remedy="State the epsilon of the run (epsilon_of = 'run').",
            )
        )
    findings.append(claim_finding(claimed, recomputed))
    return Verdict(
        what=f"[dp] {kind}",
        place=said.place,
        does=f"adds {kind.capitalize()} noise of {plain(noise)} where two neighbours differ by "
        f"{_apart(sensitivity)}, {rounds:,} "
        f"round{'s' if rounds > 1 else ''}",
        protects=protects,
        delta=delta,
        claimed=claimed,
        recomputed=recomputed,
        others=tuple(others),
        mechanism=mechanism,
        findings=ordered(findings),
    )


def _apart(sensitivity: float) -> str:
    return plain(sensitivity) if math.isfinite(sensitivity) else "any amount"


def _noise(said: Said) -> float:
    """The deviation, or the scale of Laplace noise."""
    if "noise" in said.values:
        return number(said, "noise")
    if "noise_multiplier" in said.values:
        clip = number(said, "clip") if "clip" in said.values else None
        if clip is None:
            raise InputError(f"[dp] in {said.place} has a noise_multiplier and no clip that it multiplies.")
        return number(said, "noise_multiplier") * clip
    raise InputError(f"[dp] in {said.place} has neither noise nor noise_multiplier.")


def _sensitivity(said: Said, facts: Facts, findings: list[Finding]) -> float:
    """How far apart two neighbours really are: the clip says, not the file's own sensitivity."""
    values = said.values
    if "clip" not in values or values["clip_by"] == "none" or values["clip"] == math.inf:
        findings.append(
            Finding(
                check="clip",
                severity="wrong",
                sentence="Nothing is clipped: a row or a client can move what is sent by any amount.",
                remedy="Clip, and make the noise for the clip.",
            )
        )
        return math.inf
    clip = number(said, "clip")
    if clip == 0:
        raise InputError(f"clip in [dp] of {said.place} is 0; it must be above 0.")
    apart = clip if values["unit"] == "row" or values["added_by"] == "server" else 2 * clip
    if values["mechanism"] == "laplace" and values["clip_by"] == "l2":
        apart = _l1_of_l2(apart, facts, findings)
    if "sensitivity" in values and (told := number(said, "sensitivity")) < apart:
        findings.append(
            Finding(
                check="sensitivity",
                severity="wrong",
                sentence=f"The sensitivity is said to be {plain(told)}, but what is clipped to {plain(clip)} can "
                f"differ by {plain(apart)}: noise made for it is {plain(apart / told if told else math.inf)} times "
                "too small.",
                remedy=f"Make the noise for {plain(apart)}.",
            )
        )
    return apart


def _l1_of_l2(apart: float, facts: Facts, findings: list[Finding]) -> float:
    size = facts.count("parameters")
    if size is None:
        raise Open("--parameters: Laplace noise has to cover the L1 distance, and the clip is in L2")
    findings.append(
        Finding(
            check="norm",
            severity="wrong",
            sentence=f"Laplace noise has to cover L1 distances, and the clip is in L2: with {size:,} numbers "
            f"{plain(apart)} in L2 can be {plain(apart * math.sqrt(size))} in L1.",
            remedy="Clip in L1, or take Gaussian noise.",
        )
    )
    return apart * math.sqrt(size)


def _share(said: Said, findings: list[Finding]) -> float:
    """By how much the noise of each message is smaller than was said."""
    divided = number(said, "noise_divided_by")
    if divided <= 1 or said.values["added_by"] == "server":
        return 1.0
    if said.values["secure_aggregation"]:
        findings.append(
            Finding(
                check="divided noise",
                severity="doubtful",
                sentence=f"Each client adds 1/{plain(divided)} of the noise, and only the sum is seen: independent "
                "shares add up to less, and a client that drops out takes its share away.",
                remedy="Divide by the square root of the number of clients that surely stay.",
            )
        )
        return math.sqrt(divided)
    findings.append(
        Finding(
            check="divided noise",
            severity="wrong",
            sentence=f"Each client adds only 1/{plain(divided)} of the noise, and the server sees each message.",
            remedy="Use secure aggregation, or the whole noise at each client.",
        )
    )
    return divided


def _mechanism(
    said: Said, facts: Facts, noise: float, sensitivity: float, rounds: int
) -> tuple[Mechanism, list[tuple[str, float]]]:
    """The mechanism, and epsilon under a friendlier assumption."""
    if not math.isfinite(sensitivity):
        return NoGuarantee(), []
    if said.values["mechanism"] == "laplace":
        return Laplace(scale=noise, sensitivity=sensitivity, releases=rounds), []
    if said.values["unit"] == "client" or said.values["sampling"] == "all":
        return Gaussian(noise=noise, sensitivity=sensitivity, releases=rounds * (facts.count("local_epochs") or 1)), []
    rows, batch = facts.count("rows"), facts.count("batch_size")
    if rows is None or batch is None:
        raise Open("--rows and --batch-size")
    rate, epochs = 1 / math.ceil(rows / min(batch, rows)), rounds * (facts.count("local_epochs") or 1)
    drawn = Sampled(multiplier=noise / sensitivity, rate=rate, steps=round(epochs / rate))
    if said.values["sampling"] == "poisson":
        return drawn, []
    whole = Gaussian(noise=noise, sensitivity=sensitivity, releases=epochs)
    delta = facts.delta or 1e-5
    return whole, [("if batches were drawn by Poisson sampling", drawn.epsilon(delta))]


def _norms(said: Said) -> list[Finding]:
    if not said.values["batch_norm"] or said.values["unit"] != "row":
        return []
    return [
        Finding(
            check="batch norm",
            severity="wrong",
            sentence="BatchNorm mixes the rows of a batch, so that no row has a gradient of its own to clip.",
            remedy="Use LayerNorm or GroupNorm.",
        )
    ]


def _nothing() -> Finding:
    return Finding(
        check="no guarantee",
        severity="wrong",
        sentence="No noise is added: whatever is left out, rounded or masked, no epsilon can be stated.",
        remedy="Clip, and add noise that is made for the clip.",
    )


def _server(facts: Facts) -> Finding:
    severity = {"server": "wrong", "outsiders": "right"}.get(facts.against or "", "doubtful")
    return Finding(
        check="server",
        severity=severity,  # type: ignore[arg-type]
        sentence="The server adds the noise, after it has seen what clients sent: it is no protection from the server.",
        remedy="" if severity == "right" else "Noise at the clients, or say --against outsiders.",
    )
