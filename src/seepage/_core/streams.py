"""Named random streams: the same seed and name give the same numbers, whatever else was drawn."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Streams:
    """Hands out independent generators by name, so that no global seed is ever set.

    Two names never share numbers, and asking for one does not move another: adding an attack to an audit leaves
    the training of the clients as it was.

    Example:
        >>> a = Streams(7).numpy("batches", 3).integers(1000)
        >>> bool(a == Streams(7).numpy("batches", 3).integers(1000))
        True
    """

    seed: int
    path: tuple[str, ...] = field(default=())

    def child(self, *names: str | int) -> Streams:
        """A sub-family of streams, named below this one."""
        return Streams(self.seed, self.path + tuple(str(name) for name in names))

    def integer(self, *names: str | int) -> int:
        """A 63-bit seed for the stream of this name (for generators of other libraries)."""
        text = "\x1f".join((str(self.seed), *self.path, *(str(name) for name in names)))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1

    def numpy(self, *names: str | int) -> np.random.Generator:
        """The numpy generator of this name."""
        import numpy as np  # help must be there at once

        return np.random.default_rng(self.integer(*names))
