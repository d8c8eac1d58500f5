"""Codes: every row is in a bin of several chains, and rows that were read are peeled off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import InputError, NotApplicable, Streams
from seepage.attacks.malicious import halfspaces, windows
from seepage.attacks.malicious.chains import make_chain
from seepage.attacks.malicious.head import make_tag
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

FEWEST = 24  # cuts in the second layer; with fewer the first layer is used


@dataclass(frozen=True, kw_only=True)
class Codes:
    """One round, several directions: the bins are the check bits of an erasure code, and peeling decodes it.

    With two hidden layers wider than the inputs the bins are in the second layer, where no digits are lost and bins
    with two or three rows can be read; else they are in the first, as in :class:`Bins`.

    Args:
        chains: directions; each row is in one bin of each.

    Guarantees:
        A certified row makes up, with other rows that were read, all of its bins in at least two chains, to rounding.

    References:
        Luby, LT Codes, FOCS 2002; Goodrich and Mitzenmacher, Invertible Bloom Lookup Tables, 2011. With weights of a
        server it is Seepage's own.

    Example:
        >>> Codes().chains
        3
    """

    chains: int = 3

    several_rounds = False
    notices = (
        "Many neurons share a direction; biases along it are sorted.",
        "Weights are many orders of magnitude smaller than any training makes them, and most are zero.",
        "On the client's own rows each neuron behind the cuts fires for a handful of rows only.",
    )

    def __post_init__(self) -> None:
        if not 1 <= self.chains <= 8:
            raise InputError(f"There are {self.chains} chains; use 1 to 8.")

    def prepare(self, scene: ServerScene, streams: Streams) -> list[Trap]:
        """One model."""
        return [crafted(scene, streams, self.chains, 1.0, 0)]

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """Peel until nothing new is found."""
        return read_rows(scene, traps[:1], answers[:1])


def room_for_cuts(scene: ServerScene) -> int:
    """Neurons for cuts: of the second layer where there are enough, else of the first."""
    second = windows.room(scene)
    return second if second >= FEWEST else halfspaces.room(scene)


def crafted(scene: ServerScene, streams: Streams, chains: int, covered: float, number: int) -> Trap:
    """A model with bins in the second layer where there is room, else in the first."""
    second, room = windows.room(scene), room_for_cuts(scene)
    bins = room // chains - 1
    if bins < 2:
        raise NotApplicable(f"The model has room for {room} cuts; {chains} chains need at least 3 each.")
    numeric = scene.space.layout.numeric
    own = tuple(
        make_chain(scene.public, numeric, bins, streams.numpy("direction", number, chain), covered=covered)
        for chain in range(chains)
    )
    # The same in every round: a row has the same slope in all of them.
    tag = make_tag(scene, streams.numpy("tag"))
    return windows.craft(scene, own, tag) if second >= FEWEST else halfspaces.craft(scene, own, tag)
