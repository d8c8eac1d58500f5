"""What is seen of whole models: their weights, or what clients of a federation send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seepage.models.stack import Stack
from seepage.results.facts import ThreatModel

Kind = Literal["weights", "update", "gradient"]
_SEEN = {
    "weights": "The weights of one trained model.",
    "update": "The update of one client: how far its model moved from the one that the server had sent.",
    "gradient": "The gradient of one client, over all its rows at the model that the server had sent.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """Models as an attacker gets them.

    Args:
        models: their numbers.
        kind: what they are.
        rounds: how many of each are chained.
        own_rows: the attacker's rows are none of the owners'; otherwise they come from the same pool.
        same_epochs: the attacker knows for how long owners train.
    """

    models: Stack
    kind: Kind
    rounds: int = 1
    own_rows: bool = False
    same_epochs: bool = True

    def describe(self) -> ThreatModel:
        """Who holds this, what it shows, and what of the rest is known, as sentences."""
        holder = (
            "Somebody who holds a trained model and wants to know what share of its training rows has a property."
            if self.kind == "weights"
            else "The server of a federation, which follows the protocol and wants to know what share of a client's "
            "rows has a property."
        )
        seen = [_SEEN[self.kind]]
        if self.rounds > 1:
            seen.append(f"The same in {self.rounds} rounds, between which the server's model moves on.")
        rows = (
            "Rows of its own with the same columns, none of which is the owner's."
            if self.own_rows
            else "Rows with the same columns, drawn from the same pool as the owner's."
        )
        return ThreatModel(
            adversary=(holder,),
            sees=tuple(seen),
            knows=("The architecture, and how models are trained.", rows, "The property that is asked about."),
            does_not_know=(
                "The rows.",
                "The share of the property among them.",
                *(() if self.same_epochs else ("For how many epochs owners train.",)),
            ),
        )
