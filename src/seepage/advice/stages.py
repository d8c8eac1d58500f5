"""The stages of a search: cheap attacks on few updates first, everything on what is left."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.advice.space import Candidate

_ALGEBRA = "exact:steps=20:restarts=1:starts=2:start_steps=20"  # hardly more than what is read without searching
_QUICK = "fast:steps=100:restarts=3"
_KNOWING = "adaptive"  # who knows the defence: it draws rows, which takes seconds for every update
COUNTING = "presence"  # which categories a batch has: no search, beside every attack on a table that has categories
LEAST = "fast:steps=1:restarts=1"  # of a training that is only run for what its model is worth
# How many times longer than these cut attacks the same ones take at full length: a first guess, until they have run.
LONGER_THAN = {"exact": 35.0, "fast": 30.0, "adaptive": 60.0}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A rung of the search.

    Args:
        plain, defended: attacks on settings without and with a defence. Each setting is judged by the best of them.
        federations: trainings; every client of each is attacked. Of half a one, half of the clients.
        trained: whether models are trained, so that what they are worth is known; else the first updates are attacked.
        until: share of the time that is gone when it ends.
        judged: whether what was read counts; else it is about what models are worth.

    Example:
        >>> SCREEN.trained, CONFIRM.attacks(Candidate())
        (False, ('exact', 'fast'))
    """

    name: str
    plain: tuple[str, ...]
    defended: tuple[str, ...]
    federations: float
    until: float
    trained: bool = True
    judged: bool = True

    @property
    def place(self) -> int:
        """Its number among the stages: each has seeds of its own."""
        return [stage.name for stage in STAGES].index(self.name)

    def attacks(self, candidate: Candidate) -> tuple[str, ...]:
        """What attacks a setting."""
        return self.plain if candidate.plain else self.defended


_ALL = ("exact", "fast", _KNOWING)
SCREEN = Stage(
    name="screen",
    plain=(_ALGEBRA,),
    defended=(_QUICK,),  # as if nothing were in the way
    federations=1,
    until=0.25,
    trained=False,
)
TRAIN = Stage(name="train", plain=(_ALGEBRA,), defended=(_QUICK,), federations=3, until=0.5)
# A defence that the attacker sees through is seen through on few updates: not one is trained for that.
PRESS = Stage(name="press", plain=("fast",), defended=(_KNOWING,), federations=0.5, until=0.7, trained=False)
LONGER = Stage(name="longer", plain=(LEAST,), defended=(LEAST,), federations=3, until=0.78, judged=False)
ARSENAL = Stage(name="arsenal", plain=_ALL[:2], defended=_ALL, federations=1, until=1.0)
CONFIRM = Stage(name="confirm", plain=_ALL[:2], defended=_ALL, federations=6, until=1.0)
STAGES = (SCREEN, TRAIN, PRESS, LONGER, ARSENAL, CONFIRM)
CONFIRMING = (ARSENAL.name, CONFIRM.name)
