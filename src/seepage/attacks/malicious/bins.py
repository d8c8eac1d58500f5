"""Bins: all neurons of the first layer look the same way, and cut the data at quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import NotApplicable, Streams
from seepage.attacks.malicious import halfspaces
from seepage.attacks.malicious.chains import make_chain
from seepage.attacks.malicious.head import make_tag
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene


@dataclass(frozen=True, kw_only=True)
class Bins:
    """One round, one direction: a row that is alone in its bin is read.

    Guarantees:
        A certified row is alone in its bin, with the slope that the sent model gives that very row.

    References:
        Fowl et al., Robbing the Fed: Directly Obtaining Private Data in Federated Learning with Modified Models, ICLR
        2022; Boenisch et al., When the Curious Abandon Honesty, EuroS&P 2023.

    Example:
        >>> Bins().notices[0]
        'All neurons of the first layer have the same direction: its weights have rank 2.'
    """

    several_rounds = False
    notices = (
        "All neurons of the first layer have the same direction: its weights have rank 2.",
        "Their biases are sorted: they cut the client's own rows into bins of one row each.",
        "All of them have the same way out.",
    )

    def prepare(self, scene: ServerScene, streams: Streams) -> list[Trap]:
        """One model; the direction is random."""
        room = halfspaces.room(scene) - 1
        if room < 2:
            raise NotApplicable(f"The first layer has {room + 2} neurons; bins need at least 4.")
        numeric = scene.space.layout.numeric
        chain = make_chain(scene.public, numeric, room, streams.numpy("direction"))
        return [halfspaces.craft(scene, (chain,), make_tag(scene, streams.numpy("tag")))]

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """Rows that are alone in their bins."""
        return read_rows(scene, traps[:1], answers[:1])
