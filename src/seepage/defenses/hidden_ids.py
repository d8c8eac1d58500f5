"""The server of vertical learning is not told which rows are in a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from seepage.defenses.defense import Defense
from seepage.observation.vertical import IN_A_BATCH, VerticalUpdate
from seepage.results.facts import ThreatModel


@dataclass(frozen=True, kw_only=True)
class HiddenIds(Defense):
    """The server is told random ids, others for every batch: it cannot lay batches side by side.

    The workers agree on a secret that the server does not have, and take other rows than it asks for.

    Guarantees:
        None. The gradients stay the true ones, so an attack on a single gradient reads what it reads without this.

    References:
        Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021.

    Example:
        >>> HiddenIds().renumbers
        False
    """

    def told_rows(
        self, updates: Iterator[VerticalUpdate], people: int, secret: torch.Generator
    ) -> Iterator[VerticalUpdate]:
        """Every update with the ids of other people."""
        for update in updates:
            yield replace(update, rows=torch.randperm(people, generator=secret)[: len(update.rows)])

    def amend(self, threat: ThreatModel) -> ThreatModel:
        """The server does not learn who is in a batch."""
        told = Defense.amend(self, threat)
        return told.model_copy(
            update={
                "knows": tuple(sentence for sentence in told.knows if sentence != IN_A_BATCH),
                "does_not_know": (*told.does_not_know, "Which rows are in a batch."),
            }
        )
