"""What every attack on sums offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from seepage._core import Progress, Streams, silent
from seepage.attacks.attack import Attacker
from seepage.observation import Claim
from seepage.observation.sums import CohortSum, SumScene

# Rows of the cohorts; rows of a client that was absent once; whose rows are; whose categories are; which there are.
Reads = Literal["rows", "client", "owners", "entries", "categories"]


class SumsAttack(Protocol):
    """A frozen dataclass of settings that starts on a federation, and sees one sum after the other.

    ``reads`` says what it is after, and ``rerun`` whether it needs a round that was run again without a client.
    """

    @property
    def reads(self) -> Reads: ...

    @property
    def rerun(self) -> bool: ...

    def start(self, scene: SumScene, streams: Streams, *, progress: Progress = silent) -> Attacker[CohortSum]: ...


@dataclass
class Watching:
    """An attacker that waits for all sums, and answers one claim about them.

    Example:
        >>> from seepage._core import Outcome
        >>> attacker = Watching(lambda seen: Claim(outcome=Outcome.NOT_APPLICABLE))
        >>> [claim.outcome.code for claim in attacker.claims()]
        ['not_applicable']
    """

    answer: Callable[[Sequence[CohortSum]], Claim]
    seen: list[CohortSum] = field(default_factory=list)

    def see(self, observation: CohortSum) -> None:
        self.seen.append(observation)

    def claims(self) -> list[Claim]:
        return [self.answer(self.seen)]
