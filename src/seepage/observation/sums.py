"""What a server holds under secure aggregation: sums over cohorts of clients. No truth is here."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.models import Learner, Parameters
from seepage.observation.observation import Exchange, Observation, Space
from seepage.results.facts import ThreatModel

_SENT = {
    "fedsgd": "The sum over a cohort of clients of their gradients, each times its rows, and nothing of a client "
    "alone.",
    "fedavg": "The sum over a cohort of clients of their changes of the model, each times its rows, and nothing of a "
    "client alone.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SumScene:
    """What all sums of a federation have in common.

    Args:
        learner: architecture and loss.
        space: the input space as far as it is known.

    Example:
        >>> [name for name in SumScene.__dataclass_fields__]
        ['learner', 'space']
    """

    learner: Learner
    space: Space


@dataclass(frozen=True, kw_only=True, eq=False)
class CohortSum:
    """One round as a server sees it that only learns a sum.

    Every client sends its update times its number of rows under masks that cancel in the sum; so the sum is there, the
    number of rows behind it, and who took part. Whose a row is, and in which order clients or rows came, is not in it.

    Args:
        number: of the round. A round that is run again has a number of its own.
        cohort: the clients whose updates were added up, in ascending order.
        learner, space: as in :class:`~seepage.observation.Observation`.
        parameters: the global model that was sent out.
        total: the sum of what came back, each client's update times its rows.
        exchange: the rules of the round as if one client had all rows: ``rows`` are those of the whole cohort, and
            ``batch_size`` those of one local step of all its clients.
        labels: (rows,) of the whole cohort in ascending order, if the adversary knows them.
    """

    number: int
    cohort: tuple[int, ...]
    learner: Learner
    space: Space
    parameters: Parameters
    total: Parameters
    exchange: Exchange
    labels: Tensor | None = None

    def __post_init__(self) -> None:
        if not self.cohort:
            raise InputError("A cohort is empty; a sum is over at least one client.")
        if tuple(sorted(set(self.cohort))) != self.cohort:
            raise InputError("The clients of a cohort are not in ascending order, or one is in it twice.")
        if self.exchange.rows < len(self.cohort):
            raise InputError(
                f"There are {self.exchange.rows} rows behind a sum over {len(self.cohort)} clients; how many rows each "
                "has is not known, or a client has none. A sum is read with the number of rows behind it."
            )

    @property
    def scene(self) -> SumScene:
        """What it has in common with the other sums."""
        return SumScene(learner=self.learner, space=self.space)

    def as_update(self) -> Observation:
        """The same as the update of one client that has all rows of the cohort.

        For gradients, and for changes after one local step, it is just that, up to rounding. After several local steps
        it is not, as every client has walked a way of its own; but the first layer's span is still that of all rows.
        """
        mean = {name: value / self.exchange.rows for name, value in self.total.items()}
        return Observation(
            learner=self.learner,
            space=self.space,
            parameters=self.parameters,
            update=mean,
            exchange=self.exchange,
            labels=self.labels,
        )

    def same_model(self, other: CohortSum) -> bool:
        """Whether both rounds began with the same weights, to the last bit."""
        return all(torch.equal(value, other.parameters[name]) for name, value in self.parameters.items())

    def describe(self, clients: int, *, rerun: bool = False) -> ThreatModel:
        """Who holds this, what it shows, and what of the rest is in it, as sentences.

        Args:
            clients: in the federation.
            rerun: a round is run again without one of its clients.
        """
        one = self.as_update().describe()
        sees = [_SENT[self.exchange.protocol], "The global model of every round."]
        if rerun:
            sees.append("For the attack on differences: one round again, at the same weights, without one client.")
        return ThreatModel(
            adversary=(
                "An honest-but-curious server behind secure aggregation: it follows the protocol, sees a sum over a "
                "cohort of clients, and tries to read rows and whose they are.",
            ),
            sees=tuple(sees),
            knows=(*one.knows, f"Who of the {clients} clients took part in which round, and how many rows they have."),
            does_not_know=(*one.does_not_know, "The update of any single client.", "Whose a row is."),
        )
