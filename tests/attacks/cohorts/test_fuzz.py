"""Certificates on sums stay true: random federations, and not one false row, owner or category."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from seepage._core import NotApplicable, Streams
from seepage.attacks.cohorts import Difference, Groups, LoneEntries, RowsOfSum
from seepage.attacks.cohorts.reading import Budget
from seepage.federation import FedAvg, FedSGD
from seepage.federation.cohorts import CohortTruth, SecureAggregation
from seepage.observation import Claim
from tests.attacks.cohorts.example import KNOWN, answer, false_certificates, population

SHORT = {"steps": 2, "restarts": 1, "start_steps": 60, "starts": 3, "turns": 4}


def false_entries(claim: Claim, truth: CohortTruth) -> tuple[int, int]:
    """Categories that have an owner, and those that the owner has not."""
    assert claim.entry_owners is not None
    told = wrong = 0
    for column, owners in enumerate(claim.entry_owners):
        for category in np.flatnonzero(owners >= 0):
            told += 1
            wrong += owners[category] not in truth.owners[truth.rows.codes[:, column] == category]
    return told, wrong


def federation(number: int, tally: Counter[str]) -> None:
    """One random federation, and what its certificates are worth."""
    streams = Streams(5).child("federation", number)
    draw = streams.numpy("settings")
    rows, cohort, rounds = (int(draw.integers(*ends)) for ends in ((1, 5), (2, 7), (1, 5)))
    made = population(clients=8, rows=rows, width=int(draw.choice([12, 24, 32, 48])), seed=number)
    shared = bool(draw.random() < 0.3)
    if shared:  # two clients have the same row: then logic must not take it for one client's
        x, y = made.x.clone(), made.y.clone()
        one, other = made.owned[0][0], made.owned[1][0]
        x[other], y[other] = x[one], y[one]
        tables = list(made.tables)
        codes, numbers = tables[1].codes.copy(), tables[1].numbers.copy()
        codes[0], numbers[0] = tables[0].codes[0], tables[0].numbers[0]
        tables[1] = replace(tables[1], codes=codes, numbers=numbers)
        made = replace(made, x=x, y=y, tables=tuple(tables))
    steps = int(draw.choice([0, 0, 1, 2]))
    protocol = (
        FedAvg(batch_size=rows, local_rows=rows, local_epochs=steps, learning_rate=0.05)
        if steps
        else FedSGD(batch_size=rows, learning_rate=float(draw.choice([0.01, 0.3])))
    )
    aggregation = SecureAggregation(protocol=protocol, cohort=cohort, rounds=rounds, rerun=True)
    sums, truth = aggregation(made, KNOWN, streams)
    attacks = (RowsOfSum(**SHORT), Difference(**SHORT), Groups(distinct=not shared, **SHORT))  # type: ignore[arg-type]
    for attack in attacks:
        assert isinstance(attack, Budget)
        try:
            claim = answer(attack, sums if attack.rerun else sums[:-1], number)
        except NotApplicable:
            continue
        if claim.certified is not None and claim.rows is not None:
            owned = 0 if claim.owners is None else int((claim.owners[claim.certified] >= 0).sum())
            tally["certificates"] += int(claim.certified.sum()) + owned
            tally["false"] += false_certificates(replace(claim, owners=proven(claim)), truth)
    if rounds > 1 and len({each.cohort for each in sums[:-1]}) > 1:
        told, wrong = false_entries(answer(LoneEntries(), sums[:-1]), truth)
        tally["certificates"] += told
        tally["false"] += wrong


def proven(claim: Claim) -> np.ndarray | None:
    """Owners of certified rows only: the others are estimates."""
    if claim.owners is None or claim.certified is None:
        return None
    return np.where(claim.certified, claim.owners, -1)


def test_no_certificate_is_false() -> None:
    tally: Counter[str] = Counter()
    for number in range(2, 6):
        federation(number, tally)
    assert tally["certificates"] > 20
    assert not tally["false"]


@pytest.mark.slow
def test_no_certificate_of_ten_thousand_is_false() -> None:
    tally: Counter[str] = Counter()
    number = 100
    while tally["certificates"] < 10_000:
        federation(number, tally)
        number += 1
    assert not tally["false"]
