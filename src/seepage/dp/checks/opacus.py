"""Opacus: DP-SGD at a client, every row's gradient clipped, noise on the sum of a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seepage._core import InputError, nearest
from seepage._core.errors import shown
from seepage.dp.checks.common import (
    HOLLOW,
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
from seepage.dp.mechanisms import Gaussian, Mechanism, Sampled, noise_of_target
from seepage.dp.readers.python_source import is_one_over_batches
from seepage.dp.readers.signatures import SIGNATURES
from seepage.dp.said import Said

PROTECTS = "one row of a client (one more or less), from everybody who gets its updates"
_FIXES = {"fix", "convert_batchnorm_modules"}
_NORMS = {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LazyBatchNorm1d"}


@dataclass(frozen=True, kw_only=True)
class _Batches:
    """How rows come into batches.

    Args:
        rate: of the loader; its batches are one over it.
        epochs: passes over the rows in all.
    """

    rate: float
    epochs: int

    @property
    def steps(self) -> int:
        return round(self.epochs / self.rate)


def check_opacus(said: Said, facts: Facts, engine: Said | None) -> Verdict:
    """What ``make_private`` or ``make_private_with_epsilon`` is worth over all rounds.

    Args:
        said: the call.
        facts: of the federation.
        engine: the ``PrivacyEngine`` of the same file.
    """
    findings = [*open_findings(said), *_beside(said, facts, engine), *unit_findings("row", facts)]
    does = "clips every row's gradient and adds Gaussian noise to the sum of every batch"
    try:
        return _verdict(said, facts, engine, findings)
    except Open as missing:
        return not_shown(said, does, PROTECTS, list(ordered(findings)), str(missing).strip("'"))


def _verdict(said: Said, facts: Facts, engine: Said | None, findings: list[Finding]) -> Verdict:
    clip = _clip(said, findings)
    targeted = said.kind == "make_private_with_epsilon"
    delta = _delta(said, facts, findings)
    missing = [name for name in ("rows", "batch_size") if facts.count(name) is None]
    if missing:
        raise Open(_flags(missing, facts))
    rows, batch = facts.count("rows") or 1, facts.count("batch_size") or 1
    rate = 1 / math.ceil(rows / min(batch, rows))
    rounds = rounds_of(facts, findings, what="one round")
    local = count(said, "epochs") if targeted else facts.count("local_epochs")
    if local is None:
        findings.append(
            _doubt("local epochs", "Nobody says how many passes a round has; 1 is taken.", "--local-epochs")
        )
        local = 1
    elif targeted and facts.count("local_epochs") not in (None, local):
        raise InputError(
            f"epochs is {local} in {said.place}, and local_epochs {facts.count('local_epochs')} elsewhere."
        )
    batches = _Batches(rate=rate, epochs=local * rounds)
    target = number(said, "target_epsilon") if targeted else None
    if target is not None and not 0 < target <= HOLLOW:
        findings.append(_hollow(target))
        raise Open(f"a target_epsilon above 0 and at most {HOLLOW:g}")
    claimed = _claimed(said, facts, target)
    accountant = str(engine.values.get("accountant", "prv")) if engine else "prv"
    noise = noise_of_target(target, delta, rate, local, accountant) if target else number(said, "noise_multiplier")
    return _accounted(said, batches, noise, clip, delta, claimed, rounds, findings)


def _accounted(
    said: Said,
    batches: _Batches,
    noise: float,
    clip: float,
    delta: float,
    claimed: float | None,
    rounds: int,
    findings: list[Finding],
) -> Verdict:
    poisson = said.values.get("poisson_sampling", True) is not False and "poisson_sampling" not in said.unclear
    drawn = Sampled(multiplier=noise, rate=batches.rate, steps=batches.steps)
    # A row is in one batch of a pass: what the others release does not touch it.
    whole = Gaussian(noise=noise, sensitivity=1.0, releases=batches.epochs)
    mechanism: Mechanism = drawn if poisson else whole
    recomputed = mechanism.epsilon(delta) if math.isfinite(clip) else math.inf
    amplified = drawn.epsilon(delta) if math.isfinite(clip) else math.inf
    if noise == 0:
        findings.append(
            Finding(
                check="noise",
                severity="wrong",
                sentence="The noise multiplier is 0: gradients are clipped, and nothing covers them.",
                remedy="Set noise_multiplier; about 1 is usual.",
            )
        )
    if not poisson:
        findings.append(_shuffled(amplified, recomputed))
    if rounds > 1 and said.kind == "make_private_with_epsilon":
        findings.append(
            Finding(
                check="composition",
                severity="wrong" if recomputed > (claimed or 0) * 1.05 else "right",
                sentence=f"The noise is made for epochs={batches.epochs // rounds} in one call, and every one of "
                f"{rounds:,} rounds spends it again.",
                remedy="Give epochs as passes over all rounds together, and keep the engine over rounds.",
            )
        )
    findings.append(claim_finding(claimed, recomputed))
    if poisson:
        others: tuple[tuple[str, float], ...] = (("if who is in which batch were known", whole.epsilon(delta)),)
    else:
        others = (("if batches were drawn by Poisson sampling", amplified),)
    clipped = f"clips every row's gradient to norm {plain(clip)}" if math.isfinite(clip) else "clips nothing"
    sampling = "Poisson batches" if poisson else "shuffled batches"
    return Verdict(
        what=f"{said.kind} (Opacus)",
        place=said.place,
        does=f"{clipped} and adds {f'noise of {plain(noise)} times that' if noise else 'no noise'} to each of "
        f"{batches.steps:,} {sampling} with a share of {batches.rate:.2g} of the rows",
        protects=PROTECTS,
        delta=delta,
        claimed=claimed,
        recomputed=recomputed,
        others=others if math.isfinite(recomputed) else (),
        mechanism=mechanism if math.isfinite(clip) else None,
        findings=ordered(findings),
    )


def _hollow(target: float) -> Finding:
    return Finding(
        check="claim",
        severity="wrong",
        sentence=f"target_epsilon is {plain(target)}: "
        + ("that promises nothing." if target else "no noise is enough for that."),
        remedy="Take a target of 10 or less.",
    )


def _shuffled(amplified: float, recomputed: float) -> Finding:
    return Finding(
        check="sampling",
        severity="doubtful",
        sentence=f"poisson_sampling is False: batches are shuffled, and Opacus still counts {plain(amplified)} as if "
        f"they were drawn; without that {plain(recomputed)} can be stated.",
        remedy="Leave poisson_sampling at True.",
    )


def _clip(said: Said, findings: list[Finding]) -> float:
    value = said.values.get("max_grad_norm")
    # A norm for each layer: Opacus makes noise for all of them together.
    clip = math.hypot(*value) if isinstance(value, tuple) else number(said, "max_grad_norm")
    if clip == 0:
        raise InputError(f"max_grad_norm in {said.place} is 0; it must be above 0.")
    if not math.isfinite(clip):
        findings.append(
            Finding(
                check="clip",
                severity="wrong",
                sentence="max_grad_norm is infinite: a row can move the sum by any amount, and no noise covers that.",
                remedy="Clip to about the median norm of a row's gradient.",
            )
        )
    return clip


def _delta(said: Said, facts: Facts, findings: list[Finding]) -> float:
    """Delta of the call or of the options; one over the number of batches is a common slip."""
    unclear = said.unclear.get("target_delta")
    if unclear is not None and is_one_over_batches(unclear):
        rows, batch = facts.count("rows"), facts.count("batch_size")
        findings[:] = [each for each in findings if each.check != "target delta"]
        findings.append(
            Finding(
                check="delta",
                severity="wrong",
                sentence=f"Delta is {unclear.text} (line {unclear.line}): that is one over the number of batches, not "
                "of rows.",
                remedy="Take 1 / len(loader.dataset) or less.",
            )
        )
        if rows and batch:
            return 1 / math.ceil(rows / batch) if rows > batch else 0.5
        raise Open("--rows and --batch-size")
    own = number(said, "target_delta") if "target_delta" in said.values or "target_delta" in said.unclear else None
    return delta_of(facts, findings, own)


def _claimed(said: Said, facts: Facts, target: float | None) -> float | None:
    if target is not None and facts.claims not in (None, target):
        raise InputError(
            f"target_epsilon is {target:g} in {said.place}, and --claims says {facts.claims:g}; leave --claims out."
        )
    return target if target is not None else facts.claims


def _flags(missing: list[str], facts: Facts) -> str:
    several = facts.several or {}
    words = [
        f"--{name.replace('_', '-')}" + (f" (files say {several[name]})" if name in several else "") for name in missing
    ]
    return " and ".join(words)


def _doubt(check: str, sentence: str, flag: str) -> Finding:
    return Finding(check=check, severity="doubtful", sentence=sentence, remedy=f"Say it: {flag}.")


def _beside(said: Said, facts: Facts, engine: Said | None) -> list[Finding]:
    """What stands beside the call: norms, seeds, swallowed names, the generator."""
    found = []
    norms = sorted(_NORMS & facts.seen)
    if norms and not _FIXES & facts.seen:
        found.append(
            Finding(
                check="batch norm",
                severity="wrong",
                sentence=f"The model has {norms[0]}: it mixes the rows of a batch, so that no row has a gradient of "
                "its own to clip. Opacus refuses it; a guarantee made without that check does not hold.",
                remedy="Use LayerNorm or GroupNorm (ModuleValidator.fix does).",
            )
        )
    for name in said.ignored:
        guess = nearest(name, SIGNATURES[said.kind].arguments)
        hint = f" It is like {guess!r}, which keeps its default." if guess else ""
        found.append(
            Finding(
                check="arguments",
                severity="doubtful",
                sentence=f"{said.kind} takes {shown(name)} without a word and does not use it.{hint}",
                remedy="Correct the name, or leave it out.",
            )
        )
    secure = engine is not None and engine.values.get("secure_mode") is True
    if not secure:
        seeded = "manual_seed" in facts.seen or "seed_everything" in facts.seen
        why = " A seed is set in these files, too: who knows it can draw the noise again." if seeded else ""
        found.append(
            Finding(
                check="random numbers",
                severity="doubtful",
                sentence=f"secure_mode is False: the noise comes from a generator that is not made for secrets.{why}",
                remedy="PrivacyEngine(secure_mode=True) in production, and no seed.",
            )
        )
    return found
