"""Facts of a run that every summary tells: its tables, what was assumed, and what was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Facts(BaseModel):
    """Facts of a summary: checked when they are read, and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnFacts(Facts):
    """An input column: its name and size, never a value."""

    name: str
    kind: str
    cardinality: Annotated[int | None, Field(description="how many categories; null for numbers")] = None
    sensitive: bool = False
    missing: Annotated[int, Field(description="empty cells in the rows that were used")] = 0
    filled: Annotated[str, Field(description="what an empty cell became")] = ""
    dataset: Annotated[str, Field(description="its table, where a plan has several")] = ""


class LeftOut(Facts):
    """A column that is not used, and why."""

    name: str
    reason: str
    dataset: str = ""


class Dataset(Facts):
    """The table or tables that were audited."""

    name: str
    rows: int
    target: str
    task: str
    columns: tuple[ColumnFacts, ...] = ()
    dropped: tuple[LeftOut, ...] = ()
    notes: Annotated[tuple[str, ...], Field(description="how the table came, if there is something to say")] = ()
    digest: Annotated[str, Field(description="equal for equal rows with an equal schema")] = ""
    group: Annotated[str, Field(description="the column that says whose row it is; empty where there is none")] = ""


class ThreatModel(Facts):
    """Who attacks, and what was really handed to the attack. Over all settings of a plan: what holds in some of them
    only begins with ``In some settings:``."""

    adversary: tuple[str, ...] = ()
    sees: tuple[str, ...] = ()
    knows: tuple[str, ...] = ()
    does_not_know: tuple[str, ...] = ()

    @staticmethod
    def over(each: Sequence[ThreatModel]) -> ThreatModel:
        """The one of several settings together."""
        parts = {name: [getattr(one, name) for one in each] for name in ThreatModel.model_fields}
        return ThreatModel(**{name: _over_settings(lists) for name, lists in parts.items()})


def _over_settings(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    sentences = dict.fromkeys(sentence for each in lists for sentence in each)
    everywhere = [sentence for sentence in sentences if all(sentence in each for each in lists)]
    some = [sentence for sentence in sentences if sentence not in everywhere]
    return (*everywhere, *(f"In some settings: {sentence[0].lower()}{sentence[1:]}" for sentence in some))


class VariantSettings(Facts):
    """One setting of everything that is not a coordinate of a cell."""

    name: str
    dataset: str
    settings: Annotated[dict[str, JsonValue], Field(description="those that differ from the first variant's")]


class NotRun(Facts):
    """A task of the plan that gave no number."""

    what: str
    reason: str
    state: Annotated[
        Literal["impossible", "crashed", "missing"],
        Field(description="it cannot be; an internal error stopped it; or it was not reached yet"),
    ]


class Unfinished(Facts):
    """How much of a run that was stopped, or still goes on, is there."""

    tasks: int
    tasks_done: int
    cells: Annotated[int, Field(description="that were asked for")]
    cells_done: int

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"The run is not finished: {self.cells_done} of {self.cells} settings and {self.tasks_done} of "
            f"{self.tasks} tasks are there."
        )
