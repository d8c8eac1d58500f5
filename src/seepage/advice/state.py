"""What a search has done so far, in its folder: a search that was stopped goes on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from seepage._core import InputError
from seepage._core.files import make_folders, write_atomically
from seepage.advice.space import Candidate

STATE = "search.json"


class Rate(BaseModel):
    """What an attack took for one update of a setting of a run.

    Args:
        place: of the setting in the run.
        updates: that were attacked.
    """

    model_config = ConfigDict(extra="forbid")

    place: int
    attack: str
    seconds: float
    updates: int


class Chunk(BaseModel):
    """Some settings that one run measured.

    Args:
        folder: of the run, below the search's.
        trials: attacked updates of each setting.
        seconds: that it took; None while it is not finished.
        spent: seconds of sessions that ended before it did.
        rates: what its attacks took.
        first: whether it was the first of a session, which waits for processes to start.
    """

    model_config = ConfigDict(extra="forbid")

    folder: str
    stage: str
    settings: list[dict[str, Any]]
    only_worth: dict[str, Any] | None = None
    trials: int
    seconds: float | None = None
    spent: float = 0.0
    rates: list[Rate] = []
    first: bool = False


class State(BaseModel):
    """The question, what was chosen for it, what was run, and the seconds that the last session was given."""

    model_config = ConfigDict(extra="forbid")

    version: int = 1
    asked: dict[str, Any]
    exposure: float = 0.0
    budget: float = 0.0
    chunks: list[Chunk] = []

    @property
    def used(self) -> float:
        """Seconds, in all sessions."""
        return sum(chunk.seconds or chunk.spent for chunk in self.chunks)

    def find(self, stage: str, candidates: list[Candidate]) -> Chunk | None:
        """The run that measured these settings together; of several the last, which attacked most."""
        wanted = [vars(each) for each in candidates]
        found = [each for each in self.chunks if (each.stage, each.settings) == (stage, wanted)]
        return found[-1] if found else None

    def finished(self, stage: str) -> list[Chunk]:
        """All runs of a stage that came to their end."""
        return [each for each in self.chunks if each.stage == stage and each.seconds is not None]

    def save(self, folder: Path) -> None:
        """Keep it."""
        make_folders(folder)
        write_atomically(folder / STATE, self.model_dump_json(indent=1))


def open_state(folder: Path, asked: dict[str, Any]) -> State:
    """The state of a search for this question: a new one, or the one that is there."""
    path = folder / STATE
    if not path.exists():
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"The folder {folder} is not empty and holds no search; give another one with --out.")
        return State(asked=asked)
    try:
        state = State.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        raise InputError(f"{path} cannot be read as the state of a search; give another folder with --out.") from None
    differs = sorted(name for name in {*asked, *state.asked} if asked.get(name) != state.asked.get(name))
    if differs:
        raise InputError(
            f"The folder {folder} holds the search for another question, with other {' and '.join(differs)}. Ask the "
            "same, or give another folder with --out."
        )
    return state
