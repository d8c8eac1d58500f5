"""What a defence does to an update on its way, as far as the adversary may know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Channel:
    """The public side of a defence: its settings, and none of its random numbers. A plain channel changes nothing.

    Args:
        noise: deviation of the noise on every entry of what is sent.
        row_clip: norm to which every row's gradient is shortened, in each local step; 0 for none.
        row_noise: deviation of the noise on the sum of the rows' gradients, in each local step.
        clip: norm to which the whole update is shortened; 0 for none.
        order: of that norm: 2, or 1 for the sum of magnitudes.
        missing: what a zero means: itself (``no``), an entry that was not sent (``zeros``), or one that was not sent
            and is smaller than all that were (``smallest``), or than all of its tensor (``smallest_of_tensor``).
        step: of the grid to which entries are rounded; 0 for none.
        dithered: rounding was at random, so that an entry may have gone to either neighbour.
        levels: steps of a grid between zero and each tensor's own largest entry; 0 for none.
        signs: all that is left of a tensor is its signs.
        smoothing: share of every label that the clients' loss spreads over all classes.
        mixed: rows and labels are mixtures of two rows each.
        drawn_layers: the model's last layers take in numbers that clients draw.

    Example:
        >>> Channel(noise=0.01).plain, Channel().plain
        (False, True)
    """

    noise: float = 0.0
    row_clip: float = 0.0
    row_noise: float = 0.0
    clip: float = 0.0
    order: Literal[1, 2] = 2
    missing: Literal["no", "zeros", "smallest", "smallest_of_tensor"] = "no"
    step: float = 0.0
    dithered: bool = False
    levels: int = 0
    signs: bool = False
    smoothing: float = 0.0
    mixed: bool = False
    drawn_layers: bool = False

    @property
    def plain(self) -> bool:
        """Whether it says nothing of any change."""
        return self == PLAIN_CHANNEL

    @property
    def noisy(self) -> bool:
        """Whether random numbers are added."""
        return self.noise > 0 or self.row_noise > 0

    @property
    def uneven(self) -> bool:
        """Whether some entries of an update are surer than others."""
        return self.missing != "no" or self.levels > 0 or self.signs


PLAIN_CHANNEL = Channel()
