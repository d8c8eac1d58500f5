"""What a claim about sums holds of the truth, and what chance gets."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from seepage._core import NotApplicable
from seepage.attacks.cohorts.attack import Reads
from seepage.attacks.exact.certificate import SAME
from seepage.federation.cohorts import CohortTruth
from seepage.metrics import Evaluator
from seepage.metrics.tally import tally_measures
from seepage.observation import Claim, Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, Measure
from seepage.results.cohorts import CHANCE
from seepage.results.tallies import PUBLIC
from seepage.studies.cohorts.making import Federation


def scored(
    reads: Reads, claim: Claim, federation: Federation, knowledge: Knowledge, generator: np.random.Generator
) -> dict[Measure, float]:
    """Every number about one claim; nothing when the claim holds nothing."""
    if not claim.outcome.scored:
        return {}
    truth = federation.truth
    if reads == "categories":
        found = _categories(claim, federation)
    elif reads == "entries":
        found = _entries(claim, truth)
    elif reads == "owners":
        found = _owners(claim, truth)
    else:
        clients = {truth.absent} if reads == "client" and truth.absent is not None else watched(truth)
        own = about(claim, truth.absent) if reads == "client" else claim
        found = _rows(own, clients, federation, knowledge, generator)
    if not found:
        return {}
    read, chance = found.pop("read"), found.pop("chance")
    values = {Measure(ATTACK, ALL_COLUMNS, name): value for name, value in found.items()}
    values |= {Measure(ATTACK, ALL_COLUMNS, "read"): read, Measure(ATTACK, ALL_COLUMNS, "gain"): read - chance}
    return values | {Measure(CHANCE, ALL_COLUMNS, "read"): chance}


def about(claim: Claim, client: int | None) -> Claim:
    """What a claim says of one client's rows."""
    if claim.rows is None or claim.owners is None:
        return claim
    own = claim.owners == client
    proven = None if claim.certified is None else claim.certified[own]
    return replace(claim, rows=claim.rows[own], certified=proven, owners=claim.owners[own], doubt=None, labels=None)


def watched(truth: CohortTruth) -> set[int]:
    """The clients of the watched rounds; the one that was run again has no others."""
    return {client for cohort in truth.cohorts[:-1] for client in cohort}


def _rows(
    claim: Claim, clients: set[int], federation: Federation, knowledge: Knowledge, generator: np.random.Generator
) -> dict[str, float]:
    """Rows that are read exactly, beside the best guess from public marginals."""
    own = federation.truth.of(clients)
    if claim.rows is None or len(claim.rows) < len(own.rows):
        return {}
    about_rows = replace(claim, labels=None)  # labels are not what is measured here
    values = Evaluator(training=federation.training, draws=4)(about_rows, own, knowledge, generator)
    exact = {source: values[Measure(source, ALL_COLUMNS, "exact")] for source in (ATTACK, *BASELINES)}
    found = {"read": exact.pop(ATTACK), "chance": max(exact.values())}
    for name in ("certified", "certified_wrong"):
        measure = Measure(ATTACK, ALL_COLUMNS, name)
        if measure in values:
            found[name] = values[measure]
    return found


def _owners(claim: Claim, truth: CohortTruth) -> dict[str, float]:
    """Rows that are proven and given to the right client; chance gives the same rows to anybody of a cohort."""
    assert claim.rows is not None
    assert claim.owners is not None
    own = truth.of(watched(truth))
    total = len(own.rows)
    encoded = truth.whole.encoder.encode(truth.rows, truth.whole.statistics)
    right = wrong = real = 0
    named = int((claim.owners >= 0).sum())
    for row, owner in zip(claim.rows, claim.owners, strict=True):
        holders = truth.owners[np.abs(encoded - row).max(1) <= SAME]
        real += len(holders) > 0
        right += owner in holders
        wrong += owner >= 0 and owner not in holders
    return {
        "read": right / total,
        "chance": named / total / len(truth.cohorts[0]),
        "certified": len(claim.rows) / total,
        "certified_wrong": float(len(claim.rows) - real),
        "wrong": float(wrong),
    }


def _entries(claim: Claim, truth: CohortTruth) -> dict[str, float]:
    """Categories that one watched client alone has, and that are given to it; chance gives the same ones to anybody."""
    assert claim.entry_owners is not None
    taken = np.isin(truth.owners, list(watched(truth)))
    lone = right = wrong = named = 0
    for column, owners in enumerate(claim.entry_owners):
        codes = truth.rows.codes[:, column]
        for category, owner in enumerate(owners):
            holders = set(truth.owners[taken & (codes == category)].tolist())
            lone += len(holders) == 1
            right += len(holders) == 1 and owner in holders
            named += len(holders) == 1 and owner >= 0
            wrong += owner >= 0 and owner not in holders
    if not lone:
        raise NotApplicable("No category is one client's alone, so there is none to give to it.")
    return {"read": right / lone, "chance": named / lone / len(truth.cohorts[0]), "wrong": float(wrong)}


def _categories(claim: Claim, federation: Federation) -> dict[str, float]:
    """Categories that are rightly said to be there or not, beside a guess from public marginals."""
    assert claim.tally is not None
    values = tally_measures(claim.tally, federation.truth.of(watched(federation.truth)), federation.training)
    read, public, wrong = (
        values[Measure(source, ALL_COLUMNS, name)]
        for source, name in ((ATTACK, "presence"), (PUBLIC, "presence"), (ATTACK, "presence_wrong"))
    )
    return {} if math.isnan(read) else {"read": read, "chance": public, "wrong": wrong}
