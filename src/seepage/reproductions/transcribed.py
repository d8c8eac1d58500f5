"""Tables of runs that were not kept: copied once from a page, and marked as that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from seepage.reproductions.stored import Comparison, Kept, Sentence, Short, read_kept

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SPREAD = re.compile(r"± (\d+(?:\.\d+)?)")
_INTERVAL = re.compile(r"\((-?[\d.]+) to (-?[\d.]+)\)")


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


class Pairing(Kept):
    """Where a transcribed table has numbers of ours beside published ones.

    Args:
        file: its name in ``reproductions/results/earlier``.
        columns: pairs of places: ours, and the published number.
        within: places of columns whose cells hold both, and ``between``, which parts them.
        rows: first row and the one after the last; all of them if not given.
        half: half of our interval, in the table's units, where its page says it for all cells and no cell does.
    """

    file: Short
    columns: tuple[tuple[int, int], ...] = ()
    within: tuple[int, ...] = ()
    between: Short = "/"
    rows: tuple[int, int] | None = None
    half: float = 0.0

    def cells(self, table: TranscribedTable) -> list[Comparison]:
        """Every pair of numbers; a cell without one of the two is left out."""
        begin, end = self.rows or (0, len(table.rows))
        texts = []
        for row in table.rows[begin:end]:
            texts += [(row[0], table.columns[ours], row[ours], row[theirs]) for ours, theirs in self.columns]
            for place in self.within:
                ours, _, theirs = row[place].partition(self.between)
                texts.append((row[0], table.columns[place], ours, theirs))
        made = [self._compared(line, column, ours, theirs) for line, column, ours, theirs in texts]
        return [cell for cell in made if cell is not None]

    def _compared(self, line: str, column: str, ours: str, theirs: str) -> Comparison | None:
        one, other = _first_number(ours), _first_number(theirs)
        if one is None or other is None:
            return None
        spread, interval = _SPREAD.search(theirs), _INTERVAL.search(ours)
        low, high = (float(interval[1]), float(interval[2])) if interval else (one - self.half, one + self.half)
        known = interval is not None or self.half > 0
        return Comparison(
            place={"row": line, "column": column},
            metric=column or "number",
            ours=one,
            low=low if known else None,
            high=high if known else None,
            trials=1,
            published=other,
            spread=float(spread[1]) if spread else None,
        )


def _first_number(text: str) -> float | None:
    found = _NUMBER.search(text.replace(",", ""))
    return float(found[0]) if found else None
