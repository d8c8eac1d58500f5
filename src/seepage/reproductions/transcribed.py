"""Tables of runs that were not kept: copied once from a page, and marked as that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from seepage.reproductions.stored import Kept, Sentence, Short, read_kept


class TranscribedTable(Kept):
    """A table as it stood on a page. There is no run behind it that could be looked at."""

    transcribed: Literal[True]
    source: Annotated[Short, Field(description="where it stood")]
    title: Short
    commands: Annotated[tuple[Sentence, ...], Field(max_length=20, description="that were said to have made it")] = ()
    columns: Annotated[tuple[Short, ...], Field(min_length=1, max_length=20)]
    rows: Annotated[tuple[tuple[Sentence, ...], ...], Field(max_length=1000)]

    @model_validator(mode="after")
    def _even(self) -> TranscribedTable:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("every row must have as many cells as there are columns")
        return self


def read_transcribed(file: Path) -> TranscribedTable:
    """A transcribed table; whatever is wrong with the file is one sentence."""
    return read_kept(file, TranscribedTable)
