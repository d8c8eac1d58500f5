"""The host takes what a guest sends for the guest's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages, nothing_alone
from seepage.attacks.vertical.reading import read_directly
from seepage.observation import Claim
from seepage.observation.parties import HostScene, Received, averaged


@dataclass(frozen=True, kw_only=True)
class AsSent:
    """Read intermediate results as the guest's encoded columns, which BatchNorm has only moved and scaled.

    Needs intermediate results after training, as wide as the guest's encoding. It uses no known row and no weight.

    Guarantees:
        None.

    References:
        The TabVFL thesis, chapter 5, which adds the square layer against this reader.

    Example:
        >>> AsSent().reads
        'columns'
    """

    reads: ClassVar[Literal["columns", "labels"]] = "columns"

    def start(self, scene: HostScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""

        def answer(seen: Sequence[Received]) -> Claim:
            z = averaged(seen, scene.rows)
            if z.shape[1] != scene.layout.width:
                raise NotApplicable(
                    f"Intermediate results have {z.shape[1]} columns, the guest's encoding has {scene.layout.width}: "
                    "they are no columns that could be read as they are."
                )
            rows = read_directly(z, scene.layout, standardise=True)
            return Claim(outcome=Outcome.OK, rows=rows, ordered=True)

        return Messages(answer)

    def alone(self, scene: HostScene, streams: Streams) -> Claim:
        """Nothing: there is no message to read."""
        return nothing_alone()
