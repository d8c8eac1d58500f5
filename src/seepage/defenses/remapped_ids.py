"""The workers of vertical learning renumber people once, in secret."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from seepage.defenses.defense import Defense
from seepage.observation.vertical import IN_A_BATCH, VerticalUpdate
from seepage.results.facts import ThreatModel


@dataclass(frozen=True, kw_only=True)
class RemappedIds(Defense):
    """The server finds all rows, and not whose they are.

    Guarantees:
        None. A row of a table often tells by itself whose it is.

    References:
        Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021.

    Example:
        >>> RemappedIds().renumbers
        True
    """

    @property
    def renumbers(self) -> bool:
        """The server's numbers are other people's."""
        return True

    def told_rows(
        self, updates: Iterator[VerticalUpdate], people: int, secret: torch.Generator
    ) -> Iterator[VerticalUpdate]:
        """Every update with the new ids of its people."""
        numbers = torch.randperm(people, generator=secret)
        return (replace(update, rows=numbers[update.rows]) for update in updates)

    def amend(self, threat: ThreatModel) -> ThreatModel:
        """The server does not learn who is in a batch."""
        told = Defense.amend(self, threat)
        return told.model_copy(
            update={
                "knows": tuple(sentence for sentence in told.knows if sentence != IN_A_BATCH),
                "does_not_know": (*told.does_not_know, "Which number is whose: it knows which numbers are in a batch."),
            }
        )
