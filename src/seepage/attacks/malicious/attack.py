"""What every attack of a cheating server is: it makes weights, and reads what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from seepage._core import Streams
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene


class ServerAttack(Protocol):
    """A frozen dataclass of settings.

    ``notices`` says what a client could see in the weights that it is sent, and which check would show it.
    ``several_rounds``: it uses as many rounds as there are, and not the first alone.
    """

    @property
    def notices(self) -> tuple[str, ...]: ...

    @property
    def several_rounds(self) -> bool: ...

    def prepare(self, scene: ServerScene, streams: Streams) -> list[Trap]:
        """What is sent, round by round; an attack that does not fit the model raises :class:`NotApplicable`."""
        ...

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """The rows that the answers give away, one answer for each round."""
        ...
