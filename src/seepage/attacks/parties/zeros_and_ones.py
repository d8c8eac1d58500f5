"""The host finds the guest's two-valued columns without knowing a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from seepage._core import InputError, NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages, nothing_alone
from seepage.attacks.vertical.binary import binary_columns
from seepage.observation import Claim
from seepage.observation.parties import HostScene, Received, averaged, times_sent


@dataclass(frozen=True, kw_only=True)
class ZerosAndOnes:
    """Look for vectors of zeros and ones in the space that the columns of intermediate results span.

    Needs intermediate results after training, of at least twice as many rows as columns; no known row, no weight. Noise
    on them is allowed for, as far as the host knows its deviation.

    Args:
        starts: searches at most.

    Guarantees:
        Those of :func:`seepage.attacks.vertical.binary_columns`: what is listed lies in that space. Which column it is,
        is not told.

    References:
        Seepage.

    Example:
        >>> ZerosAndOnes().starts
        1000
    """

    starts: int = 1000

    reads: ClassVar[Literal["columns", "labels"]] = "columns"

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise InputError(f"There are {self.starts} searches; at least one is needed.")

    def start(self, scene: HostScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""
        if not scene.layout.sizes:
            raise NotApplicable(f"Guest {scene.guest!r} has no categories.")

        def answer(seen: Sequence[Received]) -> Claim:
            z = averaged(seen, scene.rows)
            if scene.rows < 2 * (z.shape[1] + 1):
                raise NotApplicable(f"{scene.rows} rows are too few to tell columns from chance.")
            found = binary_columns(z, starts=self.starts, noise=scene.noise / times_sent(seen) ** 0.5, streams=streams)
            return Claim(outcome=Outcome.OK, columns=found.columns, ordered=True)

        return Messages(answer)

    def alone(self, scene: HostScene, streams: Streams) -> Claim:
        """Nothing: the host's own columns are not the guest's."""
        return nothing_alone()
