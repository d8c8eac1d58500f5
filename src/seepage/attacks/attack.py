"""What every attack is: it starts on a scene, sees observations, and answers with claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from seepage._core import InputError, Outcome, Progress, Streams, silent
from seepage.observation import Claim, Observation, Scene

SceneT = TypeVar("SceneT", contravariant=True)
SeenT = TypeVar("SeenT", contravariant=True)
Seen = TypeVar("Seen")


USELESS = "The update is zero or holds NaN or infinity."


def useless() -> Claim:
    """The answer to an update of which nothing can be read."""
    return Claim(outcome=Outcome.NOT_APPLICABLE, note=USELESS)


def check_least(attack: object, **least: int) -> None:
    """Stop at an option of an attack that is smaller than it may be."""
    for name, lowest in least.items():
        if getattr(attack, name) < lowest:
            raise InputError(f"{name} is {getattr(attack, name)}; it must be at least {lowest}.")


class Attacker(Protocol[SeenT]):
    """An attack at work. It holds nothing but what it was shown."""

    def see(self, observation: SeenT) -> None:
        """Take one observation: a client's update, or the next batch of a stream."""
        ...

    def claims(self) -> list[Claim]:
        """The answers: one for each update, or one for a whole stream."""
        ...


class Attack(Protocol[SceneT, SeenT]):
    """A frozen dataclass of settings that can start.

    An attack on clients' updates starts on a :class:`Scene` and sees :class:`Observation` objects of one learner,
    layout and exchange, which it may attack together. An attack on vertical learning starts on a
    :class:`VerticalScene` and sees one :class:`VerticalUpdate` after the other. It sees nothing else: selection
    and stopping use its own objective, and randomness comes from ``streams`` only. An attack that does not apply to a
    scene raises :class:`NotApplicable`.
    """

    def start(self, scene: SceneT, streams: Streams, *, progress: Progress = silent) -> Attacker[SeenT]: ...


RowsAttack = Attack[Scene, Observation]


@dataclass
class Together(Generic[Seen]):
    """An attacker that waits for all observations and attacks them at once.

    Example:
        >>> from seepage._core import Outcome
        >>> attacker = Together(lambda seen: [Claim(outcome=Outcome.NOT_APPLICABLE) for _ in seen])
        >>> attacker.see("an update")
        >>> len(attacker.claims())
        1
    """

    attack: Callable[[Sequence[Seen]], list[Claim]]
    seen: list[Seen] = field(default_factory=list)

    def see(self, observation: Seen) -> None:
        self.seen.append(observation)

    def claims(self) -> list[Claim]:
        return self.attack(self.seen)


def attacked(
    attack: RowsAttack, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
) -> list[Claim]:
    """One claim for each observation; they have one scene."""
    attacker = attack.start(observations[0].scene, streams, progress=progress)
    for observation in observations:
        attacker.see(observation)
    return attacker.claims()
