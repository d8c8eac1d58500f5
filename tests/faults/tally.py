"""What happened in a campaign of faults: a line of the table in `docs/explanation/trust.md`."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

BAD = ("lost", "different", "tracebacks", "hangs", "canaries")


@dataclass
class Tally:
    """Counts of one kind of fault.

    Args:
        what: the fault, as a reader of the table understands it.
        tried: faults that were made to happen.
        lost: times something finished was gone, or a run could not go on.
        different: times a run ended with another number than an undisturbed one, or damage was not noticed.
        tracebacks: times a user would have seen a traceback.
        hangs: times nothing happened for too long.
        canaries: private values found where none belongs.
        told: one line for each bad one: what it was.
    """

    what: str
    tried: int = 0
    lost: int = 0
    different: int = 0
    tracebacks: int = 0
    hangs: int = 0
    canaries: int = 0
    told: list[str] = field(default_factory=list)

    def bad(self, kind: str, story: str) -> None:
        """Count something that must not happen, and keep its story."""
        assert kind in BAD
        setattr(self, kind, getattr(self, kind) + 1)
        self.told.append(f"{kind}: {story}")

    @contextmanager
    def counting(self, story: str) -> Iterator[None]:
        """Count what a user would see as a traceback."""
        try:
            yield
        except Exception:  # noqa: BLE001  # whatever it is, it is counted and told
            self.bad("tracebacks", f"{story}: {traceback.format_exc(limit=-3)}")

    @property
    def clean(self) -> bool:
        """Whether nothing happened that must not."""
        return not any(asdict(self)[kind] for kind in BAD)
