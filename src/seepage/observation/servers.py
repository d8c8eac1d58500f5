"""What a cheating server holds before it sends a model: the agreed model, the rules, and rows that are public."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from seepage.models import Learner, Parameters
from seepage.observation.observation import Exchange, Space
from seepage.results.facts import ThreatModel

PUBLIC = {
    "sample": "A sample of rows of the same kind that no client has.",
    "marginals": "How often each value of a column occurs, but not which go together.",
    "ranges": "The range of every number and the categories of every column, but not how often they occur.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ServerScene:
    """What the server knows when it makes its weights.

    Args:
        learner: the agreed architecture and loss.
        space: the input space, as far as it is known.
        exchange: the rules of a round.
        public: (rows, width) inputs that the server makes up from what it knows of the table.
        source: what they are made from, a name of ``PUBLIC``.
        rounds: in how many rounds it may send weights of its own to the same client.
        classes: of the target; 0 for a number.
    """

    learner: Learner
    space: Space
    exchange: Exchange
    public: np.ndarray
    source: str = "sample"
    rounds: int = 1
    classes: int = 2

    def describe(self) -> ThreatModel:
        """Who cheats, what it sees and knows, as sentences."""
        once = "In one round" if self.rounds == 1 else f"In up to {self.rounds} rounds"
        what = "the gradient of its rows" if self.exchange.protocol == "fedsgd" else "the change after local training"
        return ThreatModel(
            adversary=("A server that cheats: it sends weights of its own making, which no training made.",),
            sees=(f"{once}, {what} of a client, before averaging. All of these rounds are over the same rows.",),
            knows=(
                "The model's architecture and loss, and the protocol: rows, local steps, learning rate.",
                "The columns: names, order, types, categories, ranges, and how numbers are scaled.",
                PUBLIC[self.source],
            ),
            does_not_know=("The rows.", "The labels."),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """What a client sent back to weights that the server made.

    Args:
        learner: what the client ran: the agreed model, or one with a module of the server's.
        parameters: the weights that it was sent.
        update: the gradient (FedSGD) or the change of the parameters (FedAvg).
        exchange: the rules of the round.
    """

    learner: Learner
    parameters: Parameters = field(repr=False)
    update: Parameters = field(repr=False)
    exchange: Exchange
