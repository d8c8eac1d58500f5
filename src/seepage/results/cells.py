"""What was tested, study by study: the coordinates of a cell.

A cell is a frozen dataclass. Two records of equal cells are repetitions of one experiment. ``variant`` names what else
differs between the settings of one plan (``labels_known=false``); it is empty if nothing does.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from typing import ClassVar, Protocol, TypeVar

Coordinate = str | int | float


class Cell(Protocol):
    """What every cell has, whatever its study."""

    study: ClassVar[str]

    @property
    def dataset(self) -> str: ...

    @property
    def variant(self) -> str: ...

    @property
    def id(self) -> str:
        """A short stable name, the same on every machine."""
        ...


def coordinates(cell: Cell) -> dict[str, Coordinate]:
    """The coordinates by name, in their order."""
    found: dict[str, Coordinate] = asdict(cell)  # type: ignore[call-overload]
    return found


C = TypeVar("C", bound=Cell)


def cell_of(kind: type[C], result: object) -> C:
    """The cell whose coordinates a result has as fields."""
    return kind(**{each.name: getattr(result, each.name) for each in fields(kind)})  # type: ignore[arg-type]


_UNSAID = (("variant", ""), ("watched", 1))  # coordinates that came later; without them cells have the names they had


def _short(cell: Cell) -> str:
    said = {key: value for key, value in coordinates(cell).items() if (key, value) not in _UNSAID}
    text = "\x1f".join(f"{key}={value}" for key, value in sorted(said.items()))
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, kw_only=True, order=True)
class RowsCell:
    """Clients' updates, attacked at one moment of the training by one attack."""

    study: ClassVar[str] = "rows"
    dataset: str
    protocol: str
    model: str
    batch_size: int
    attack_point: str
    attack: str
    defense: str = "none"
    watched: int = 1  # rounds of each client that the attack joins
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


@dataclass(frozen=True, kw_only=True, order=True)
class VerticalCell:
    """Gradients of aligned batches, attacked by one attack."""

    study: ClassVar[str] = "vertical"
    dataset: str
    model: str
    people: int
    batch_size: int
    batches: int
    attack_point: str
    attack: str
    defense: str = "none"
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


@dataclass(frozen=True, kw_only=True, order=True)
class PropertyCell:
    """One meta-model, and what it read of the target models."""

    study: ClassVar[str] = "property"
    dataset: str
    property_text: str
    observed: str
    classes: int
    loss: str
    reader: str
    hierarchy: str = ""  # 4x5: in two steps
    defense: str = "none"
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


@dataclass(frozen=True, kw_only=True, order=True)
class TrainingCell:
    """Vertical training of one design; its repeats are trials with other splits and seeds."""

    study: ClassVar[str] = "training"
    dataset: str
    design: str
    guests: int
    phases: str = "both"
    failure_probability: float = 0.0
    failure_method: str = "none"
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


@dataclass(frozen=True, kw_only=True, order=True)
class PartiesCell:
    """One attack of one party on another in vertical training; its repeats are trials with other splits and seeds."""

    study: ClassVar[str] = "parties"
    dataset: str
    design: str
    guests: int
    reads: str  # columns or labels
    attack: str
    defense: str = "none"
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


@dataclass(frozen=True, kw_only=True, order=True)
class UpdatesCell:
    """Captured updates of one client, or simulated ones of the same shape, attacked by one attack."""

    study: ClassVar[str] = "updates"
    dataset: str
    sender: str  # the client's hashed name
    rounds: str
    protocol: str
    model: str
    batch_size: int
    attack: str
    origin: str = "captured"  # or simulated
    watched: int = 1  # rounds that the attack joins: each update with those before it
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


@dataclass(frozen=True, kw_only=True, order=True)
class CohortsCell:
    """Sums over cohorts of one size, watched for so many rounds and attacked by one attack."""

    study: ClassVar[str] = "cohorts"
    dataset: str
    protocol: str
    model: str
    clients: int
    rows_each: int
    cohort_size: int
    rounds: int
    reads: str  # rows, client, owners, entries or categories
    attack: str
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


@dataclass(frozen=True, kw_only=True, order=True)
class ServersCell:
    """Clients that answer to weights of a cheating server, attacked by one attack."""

    study: ClassVar[str] = "servers"
    dataset: str
    protocol: str
    model: str
    batch_size: int
    rounds: int
    attack: str
    variant: str = ""

    @property
    def id(self) -> str:
        return _short(self)


AnyCell = (
    RowsCell
    | VerticalCell
    | PropertyCell
    | TrainingCell
    | PartiesCell
    | UpdatesCell
    | CohortsCell
    | ServersCell
)  # fmt: skip
CELLS: dict[str, type[AnyCell]] = {
    "rows": RowsCell,
    "vertical": VerticalCell,
    "property": PropertyCell,
    "training": TrainingCell,
    "parties": PartiesCell,
    "updates": UpdatesCell,
    "cohorts": CohortsCell,
    "servers": ServersCell,
}
