"""What is known of a table beside its numbers, kept by hand: why cells differ, why it was not run, and its cost."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from seepage._core import InputError
from seepage.reproductions.stored import Kept, Sentence, Short
from seepage.reproductions.transcribed import Pairing


class Cause(Kept):
    """Why cells differ from the paper: what was tested, or else what was tried without finding it."""

    why: Sentence = ""
    tried: tuple[Sentence, ...] = ()

    @model_validator(mode="after")
    def _said(self) -> Cause:
        if not self.why and not self.tried:
            raise ValueError("a cause needs `why`, or `tried` where it is not known")
        return self

    def words(self) -> str:
        """As one text; what is not known is said with what was tried."""
        tried = f"Tried: {'; '.join(self.tried)}." if self.tried else ""
        return " ".join(part for part in (self.why or "Not explained.", tried) if part)


class Differences(Kept):
    """Causes by side."""

    above: Cause | None = None
    below: Cause | None = None
    failed: Cause | None = None


class EarlierRun(Differences):
    """A transcribed table that shows numbers of a table, and why they differ."""

    pairs: Annotated[tuple[Pairing, ...], Field(min_length=1)]


class StoredRun(Differences):
    """Why cells of a stored run differ: of this run, and of no later one that takes its place.

    Args:
        begun: the run's ``created``.
    """

    begun: Short = ""


class TableNotes(Kept):
    """What is kept of a table.

    Args:
        not_run: why there is no stored run, if it is not the paper's common reason.
        stored: why cells of the stored run differ.
        earlier: a run that was not kept.
    """

    not_run: Sentence = ""
    stored: StoredRun = StoredRun()
    earlier: EarlierRun | None = None


class PaperNotes(Kept):
    """What is kept of a paper.

    Args:
        not_run: why tables have no stored run.
        hours: of one core, for all of the published work of a table, by number.
        tables: by number.
    """

    not_run: Sentence
    hours: dict[str, float] = Field(default_factory=dict)
    tables: dict[str, TableNotes]


class Causes(Kept):
    """The whole file."""

    papers: dict[str, PaperNotes]


def read_causes(file: Path) -> Causes:
    """The file of causes; whatever is wrong with it is one sentence."""
    try:
        return Causes.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{file.name} cannot be read: {place}: {first['msg']}.") from None
