"""A reproduced table as a file: our numbers beside the published ones, and everything that is needed to repeat them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from seepage._core import InputError
from seepage._core.files import SHARED, write_atomically

BYTES = 8 * 2**20  # of a file that is read
_NAME = re.compile(r"[\w.-]{1,40}")
Short = Annotated[str, Field(max_length=400)]
Sentence = Annotated[str, Field(max_length=2000)]


class Kept(BaseModel):
    """What is stored: checked when it is read, bounded, and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


KeptT = TypeVar("KeptT", bound=Kept)


class Comparison(Kept):
    """One cell of a table: our number beside the paper's."""

    place: Annotated[dict[Short, Short], Field(max_length=20, description="where it stands in the table")]
    metric: Short
    unit: Short = ""
    ours: Annotated[float | None, Field(description="the mean over trials; null where no trial gave a number")]
    low: Annotated[float | None, Field(description="its interval at 95 %; null where there is one trial")] = None
    high: float | None = None
    trials: Annotated[int, Field(ge=0, description="that gave a number")]
    failed: Annotated[int, Field(ge=0, description="that gave none; they are not averaged")] = 0
    published: Annotated[float | None, Field(description="null where the paper has no such number")] = None
    spread: Annotated[float | None, Field(description="the paper's standard deviation")] = None
    reason: Annotated[Sentence, Field(description="why there is no number")] = ""
    differs: Annotated[tuple[Sentence, ...], Field(max_length=20, description="from the paper, in this cell")] = ()

    @property
    def deviations(self) -> float | None:
        """Our distance to the paper in its standard deviations."""
        if self.ours is None or self.published is None or not self.spread:
            return None
        return (self.ours - self.published) / self.spread


class PlanRun(Kept):
    """One plan that was run for a table."""

    plan: Short
    study: Short
    settings: Annotated[dict[Short, JsonValue], Field(max_length=100, description="the plan as it was run")]
    seed: int
    tables: Annotated[dict[Short, Short], Field(max_length=50, description="digests of the data sets, by name")]
    created: Annotated[Short, Field(description="when it was begun, UTC")]
    versions: Annotated[dict[Short, Short], Field(max_length=50)]
    not_run: Annotated[tuple[Sentence, ...], Field(max_length=5000)] = ()


class ReproducedTable(Kept):
    """A table of a paper, run again."""

    version: Literal[1] = 1
    paper: Short
    table: Short
    title: Short
    command: Annotated[str, Field(max_length=20_000, description="what repeats it; a line for each part")]
    scale: Annotated[float, Field(gt=0, le=1, description="share of the published work")]
    created: Annotated[Short, Field(description="when its first plan was begun, UTC")]
    runs: Annotated[tuple[PlanRun, ...], Field(min_length=1, max_length=200)]
    differs: Annotated[tuple[Sentence, ...], Field(max_length=50, description="from the paper, in all cells")] = ()
    common: Annotated[dict[Short, Short], Field(max_length=20, description="what all cells have in common")] = Field(
        default_factory=dict
    )
    cells: Annotated[tuple[Comparison, ...], Field(max_length=20_000)]

    def write(self, file: Path) -> Path:
        """Write it whole or not at all."""
        content = self.model_dump_json(indent=1, exclude_defaults=False) + "\n"
        return write_atomically(file, content, mode=SHARED)


def stored_file(folder: Path, paper: str, table: str) -> Path:
    """Where a table is stored: ``<folder>/<paper>/<table>.json``."""
    for name in (paper, table):
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} cannot be a part of a file's name.")
    return folder / paper / f"{table}.json"


def read_table(file: Path) -> ReproducedTable:
    """A stored table; whatever is wrong with the file is one sentence."""
    return read_kept(file, ReproducedTable)


def read_kept(file: Path, kind: type[KeptT]) -> KeptT:
    """A stored file of this kind."""
    try:
        if file.stat().st_size > BYTES:
            raise InputError(f"{file} has {file.stat().st_size:,} bytes; at most {BYTES:,} are read.")
        return kind.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(f"{file} cannot be read: {place}: {first['msg']}.") from None
