"""What every attack of one party on another offers: the same shape for those that read columns and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from seepage._core import Outcome, Progress, Streams, silent
from seepage.attacks.attack import Attacker
from seepage.observation import Claim
from seepage.observation.parties import GuestScene, HostScene, Received

SceneT = TypeVar("SceneT", contravariant=True)


class PartyAttack(Protocol[SceneT]):
    """A frozen dataclass of settings that starts on what a party knows, and sees what the party is sent.

    ``alone`` answers the same question from the same knowledge, but without a message: an attack reads only what it
    gets beyond that. It says that it does not apply where the knowledge tells nothing by itself; guessing is the
    baseline then.
    """

    def start(self, scene: SceneT, streams: Streams, *, progress: Progress = silent) -> Attacker[Received]: ...

    def alone(self, scene: SceneT, streams: Streams) -> Claim: ...


ColumnsAttack = PartyAttack[HostScene]
LabelsAttack = PartyAttack[GuestScene]


@dataclass
class Messages:
    """An attacker that waits for all messages, and answers one claim about all rows."""

    answer: Callable[[Sequence[Received]], Claim]
    seen: list[Received] = field(default_factory=list)

    def see(self, observation: Received) -> None:
        self.seen.append(observation)

    def claims(self) -> list[Claim]:
        return [self.answer(self.seen)]


def nothing_alone() -> Claim:
    """The claim of an attacker whose knowledge tells nothing about rows without a message."""
    return Claim(outcome=Outcome.NOT_APPLICABLE, note="Without messages there is nothing to calculate with.")
