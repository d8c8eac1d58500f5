"""From the settings of the study of cohorts to a federation behind secure aggregation, and what is counted of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import InputError, Streams
from seepage.attacks.applicability import Setup
from seepage.attacks.cohorts.limit import Limit, limit_of
from seepage.data import IID
from seepage.data.source import Source
from seepage.federation import FedAvg, FedSGD, make_population
from seepage.federation.cohorts import CohortTruth, SecureAggregation
from seepage.metrics import Reference
from seepage.observation import Knowledge
from seepage.observation.sums import CohortSum
from seepage.studies.cohorts.settings import CohortsSettings
from seepage.studies.parts import make_parts


@dataclass(frozen=True, eq=False)
class Federation:
    """What was shared and what is true, for the runner only.

    Args:
        sums: what the server sees; the last one is that of the round that was run again.
        truth: whose rows they are.
        training: marginals of the training part.
    """

    sums: list[CohortSum]
    truth: CohortTruth
    training: Reference

    @property
    def rounds(self) -> list[CohortSum]:
        """Without the round that was run again."""
        return self.sums[:-1]


def knowledge_of(settings: CohortsSettings) -> Knowledge:
    """What the attacker is given: clients of a cohort scale alike, with statistics that the server handed out."""
    return Knowledge(labels=settings.labels_known, statistics=True)


def make_protocol(settings: CohortsSettings) -> FedSGD | FedAvg:
    """What clients compute."""
    if settings.protocol == "fedsgd":
        return FedSGD(batch_size=settings.rows_each, learning_rate=settings.learning_rate)
    return FedAvg(
        batch_size=settings.rows_each,
        local_rows=settings.rows_each,
        local_epochs=settings.local_epochs,
        learning_rate=settings.learning_rate,
    )


def federated(
    source: Source, settings: CohortsSettings, model: str, cohort: int, rounds: int, streams: Streams
) -> Federation:
    """One federation, from the split of the rows to the sums."""
    splits = source.split(streams.numpy("split"))
    encoder, learner = make_parts(source, settings, model, study="cohorts", seed=streams.integer("parameters"))
    population = make_population(
        splits,
        IID(clients=settings.clients),
        encoder,
        learner,
        streams.numpy("partition"),
        local_statistics=False,
        largest=settings.rows_each,
    )
    aggregation = SecureAggregation(
        protocol=make_protocol(settings),
        cohort=cohort,
        rounds=rounds,
        apart=settings.apart,
        rerun=True,
        changing=settings.cohorts == "drawn",
    )
    sums, truth = aggregation(population, knowledge_of(settings), streams)
    return Federation(sums, truth, Reference.of(splits.train))


def check_rows(source: Source, settings: CohortsSettings) -> None:
    """A sentence if the table has too few rows for these clients."""
    rows = len(source.split(Streams(settings.seed).numpy("split")).train)
    needed = settings.clients * settings.rows_each
    if rows < needed:
        raise InputError(
            f"{settings.clients} clients with {settings.rows_each} rows each need {needed:,} rows to train on; the "
            f"table has {rows:,}. Use fewer clients (--clients) or fewer rows (--rows-each)."
        )


def counted(source: Source, settings: CohortsSettings, model: str) -> Limit:
    """The smallest cohort that hides, by counting: the model, the layout, and how many rows of the table are equal."""
    encoder, learner = make_parts(source, settings, model, study="cohorts", seed=0)
    steps = settings.local_epochs if settings.protocol == "fedavg" else 1
    setup = Setup(learner=learner, layout=encoder.layout, rows=settings.rows_each, steps=steps)
    table = source.table
    columns = np.concatenate([table.numbers, table.codes, table.target[:, None]], 1)
    return limit_of(setup, settings.rows_each, columns)
