"""A small federation behind secure aggregation, for the tests of attacks on sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from seepage._core import Streams
from seepage.attacks.cohorts import SumsAttack
from seepage.attacks.cohorts.membership import among
from seepage.data import IID, Encoder, Table, clinic, infer_schema, split
from seepage.federation import FedAvg, FedSGD, Population, make_population
from seepage.federation.cohorts import CohortTruth, SecureAggregation
from seepage.models import MLP, make_learner
from seepage.observation import Claim, Knowledge
from seepage.observation.sums import CohortSum

KNOWN = Knowledge(labels=False, statistics=True)


@cache
def table() -> Table:
    """Rows of the made-up clinic."""
    frame = clinic(rows=400)
    return Table.from_frame(frame, infer_schema(frame, "died"))


def population(*, clients: int = 8, rows: int = 2, width: int = 32, seed: int = 0) -> Population:
    """Clients with so many rows each, scaled alike."""
    streams, schema = Streams(seed), table().schema
    encoder = Encoder(schema=schema)
    layout = encoder.layout
    learner = make_learner(MLP(width=width), layout.numeric, layout.sizes, "binary", 2, seed=seed)
    return make_population(
        split(table(), streams.numpy("split")),
        IID(clients=clients),
        encoder,
        learner,
        streams.numpy("partition"),
        local_statistics=False,
        largest=rows,
    )


def watched(
    *,
    cohort: int = 3,
    rounds: int = 1,
    rerun: bool = False,
    clients: int = 8,
    rows: int = 2,
    steps: int = 0,
    width: int = 32,
    seed: int = 0,
) -> tuple[list[CohortSum], CohortTruth]:
    """Sums, and what is true of them; FedAvg with so many local steps, or FedSGD."""
    protocol = (
        FedAvg(batch_size=rows, local_rows=rows, local_epochs=steps, learning_rate=0.05)
        if steps
        else FedSGD(batch_size=rows, learning_rate=0.1)
    )
    made = population(clients=clients, rows=rows, width=width, seed=seed)
    return SecureAggregation(protocol=protocol, cohort=cohort, rounds=rounds, rerun=rerun)(made, KNOWN, Streams(seed))


def answer(attack: SumsAttack, sums: Sequence[CohortSum], seed: int = 0) -> Claim:
    """What an attack claims of these sums."""
    attacker = attack.start(sums[0].scene, Streams(seed))
    for each in sums:
        attacker.see(each)
    (claim,) = attacker.claims()
    return claim


def inputs_of(truth: CohortTruth, clients: set[int] | None = None) -> np.ndarray:
    """The true rows as inputs of the model."""
    own = truth.of(truth.watched if clients is None else clients)
    return own.encoder.encode(own.rows, own.statistics)


def false_certificates(claim: Claim, truth: CohortTruth) -> int:
    """Certified rows that are nobody's, or not their owner's."""
    assert claim.rows is not None
    assert claim.certified is not None
    wrong = int((claim.certified & ~among(claim.rows, inputs_of(truth))).sum())
    for row, owner in zip(claim.rows, claim.owners if claim.owners is not None else [], strict=False):
        wrong += owner >= 0 and not among(row[None], inputs_of(truth, {int(owner)})).all()
    return wrong
