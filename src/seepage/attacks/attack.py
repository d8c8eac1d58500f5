"""What every attack is: observations in, one claim for each out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from seepage._core import Progress, Streams, silent
from seepage.observation import Claim, Observation


class Attack(Protocol):
    """A frozen dataclass of settings that can be called.

    All observations of one call have the same learner, layout and exchange; they are attacked together. The attack sees
    nothing else: selection and stopping use its own objective. Randomness comes from ``streams`` only.
    """

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]: ...
