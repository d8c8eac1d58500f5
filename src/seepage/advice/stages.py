"""The stages of a search: cheap attacks on few updates first, everything on what is left."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.advice.space import Candidate

_ALGEBRA = "exact:steps=20:restarts=1:starts=2:start_steps=20"  # hardly more than what is read without searching
_QUICK = "fast:steps=100:restarts=3"
_KNOWING = "adaptive"  # who knows the defence: it draws rows, which takes seconds for every update
LEAST = "fast:steps=1:restarts=1"  # of a training that is only run for what its model is worth


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A rung of the search.

    Args:
        plain, defended: attacks on settings without and with a defence. Each setting is judged by the best of them.
        federations: trainings; every client of each is attacked.
        trained: whether models are trained, so that what they are worth is known; else the first updates are attacked.
        until: share of the time that is gone when it ends.

    Example:
        >>> SCREEN.trained, CONFIRM.attacks(Candidate())
        (False, ('exact', 'fast'))
    """

    name: str
    plain: tuple[str, ...]
    defended: tuple[str, ...]
    federations: int
    until: float
    trained: bool = True

    @property
    def place(self) -> int:
        """Its number among the stages: each has seeds of its own."""
        return [stage.name for stage in STAGES].index(self.name)

    def attacks(self, candidate: Candidate) -> tuple[str, ...]:
        """What attacks a setting."""
        return self.plain if candidate.plain else self.defended


SCREEN = Stage(
    name="screen",
    plain=(_ALGEBRA,),
    defended=(_QUICK,),  # as if nothing were in the way
    federations=1,
    until=0.25,
    trained=False,
)
TRAIN = Stage(name="train", plain=(_ALGEBRA,), defended=(_QUICK,), federations=2, until=0.55)
LONGER = Stage(name="longer", plain=("fast",), defended=(_KNOWING,), federations=3, until=0.75)
CONFIRM = Stage(name="confirm", plain=("exact", "fast"), defended=("exact", "fast", _KNOWING), federations=6, until=1.0)
STAGES = (SCREEN, TRAIN, LONGER, CONFIRM)
