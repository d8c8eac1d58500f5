"""Everything that can change a number of an audit, in one checked object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from seepage._core import InputError, unknown_name
from seepage.data import IID, ByColumn, Dirichlet, Partition, QuantitySkew
from seepage.federation import Automatic, FedAvg, FederatedProtocol, FedSGD, Milestones, Schedule
from seepage.observation import Knowledge
from seepage.plans.registry import written_out

ProtocolName = Literal["fedsgd", "fedavg", "vertical"]
PartitionName = Literal["iid", "dirichlet", "quantity", "column"]


class Settings(BaseModel):
    """The settings of an audit. Unknown names stop with the nearest valid one.

    Models, defences and attacks are specs: a name, and options after colons (``dp_sgd:clip=1:noise=0.5``). Every
    combination of model, defence, batch size, attack point and attack is tested. ``trials`` counts attacked batches per
    cell: clients are attacked together, and further federations with new splits and new initial parameters are trained
    until there are enough.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    protocol: ProtocolName = "fedsgd"
    models: tuple[str, ...] = ("mlp",)
    model_options: dict[str, str] = Field(default_factory=dict)
    defenses: tuple[str, ...] = ("none",)
    batch_sizes: tuple[int, ...] = (8,)
    attacks: tuple[str, ...] = ("exact",)
    attack_options: dict[str, str] = Field(default_factory=dict)
    attack_points: tuple[str, ...] = ("initialized", "final")
    trials: int = 10
    seed: int = 0
    clients: int | None = None
    partition: PartitionName = "iid"
    alpha: float = 1.0
    partition_column: str | None = None
    exposure: float | None = None
    learning_rate: float = 0.01
    local_rows: int | None = 32
    local_batches: int | None = None
    local_epochs: int = 1
    fixed_batch: bool = False
    positive_weight: float = 1.0
    numbers: Literal["standard", "minmax", "none"] = "standard"
    standardise_onehot: bool = False
    local_statistics: bool = True
    labels_known: bool = True
    ranges_known: bool = False
    deviation: Literal["client", "global"] = "client"
    reveal: bool = False
    people: int = 2000
    batches: int | None = None

    @field_validator("models", "defenses", "batch_sizes", "attacks", "attack_points")
    @classmethod
    def _not_empty(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value or len(set(value)) != len(value):
            raise ValueError("needs at least one entry, each once")
        return value

    @field_validator("trials", "clients", "local_epochs", "people", "batches")
    @classmethod
    def _positive(cls, value: int | None) -> int | None:
        if value is not None and value < 1:
            raise ValueError("must be at least 1")
        return value

    @field_validator("exposure")
    @classmethod
    def _not_negative(cls, value: float | None) -> float | None:
        if value is not None and value < 0:
            raise ValueError("must not be below 0")
        return value

    @field_validator("learning_rate", "positive_weight", "alpha")
    @classmethod
    def _above_zero(cls, value: float) -> float:
        if not value > 0:
            raise ValueError("must be above 0")
        return value

    @property
    def client_count(self) -> int:
        """10 clients for FedSGD and 3 for FedAvg unless said otherwise, as in document 002."""
        return self.clients or (10 if self.protocol == "fedsgd" else 3)

    @property
    def recoveries(self) -> int:
        """Vertical: how often all people's rows are recovered; each counts as ten attacked batches."""
        return max(1, self.trials // 10)

    @property
    def defended(self) -> tuple[str, ...]:
        """The defences that do something."""
        return tuple(spec for spec in self.defenses if spec != "none")

    @property
    def knowledge(self) -> Knowledge:
        """What the attacker is given."""
        return Knowledge(labels=self.labels_known, ranges=self.ranges_known, statistics=not self.local_statistics)

    def make_partition(self) -> Partition:
        """How rows are divided over clients."""
        if self.partition == "dirichlet":
            return Dirichlet(clients=self.client_count, alpha=self.alpha)
        if self.partition == "quantity":
            return QuantitySkew(clients=self.client_count, alpha=self.alpha)
        if self.partition == "column":
            if not self.partition_column:
                raise InputError("Partition by column needs the column's name (--partition-column).")
            return ByColumn(column=self.partition_column)
        return IID(clients=self.client_count)

    def make_schedule(self) -> Schedule:
        """When updates are attacked: names of the automatic points, ``auto`` for all five, or exposures."""
        if self.attack_points == ("auto",):
            return Automatic()
        numbers = [point for point in self.attack_points if _reads_as_number(point)]
        if not numbers:
            return Automatic(keep=self.attack_points)
        if len(numbers) < len(self.attack_points):
            raise InputError(f"Attack points {', '.join(self.attack_points)} mix names and exposures; use one kind.")
        return Milestones(exposures=tuple(float(point) for point in numbers))

    def make_protocol(self, batch_size: int) -> FederatedProtocol:
        """The protocol at one batch size."""
        if self.protocol == "fedsgd":
            return FedSGD(
                batch_size=batch_size,
                learning_rate=self.learning_rate,
                exposure=25.0 if self.exposure is None else self.exposure,
                schedule=self.make_schedule(),
                fixed_batch=self.fixed_batch,
            )
        return FedAvg(
            batch_size=batch_size,
            local_rows=self.local_rows,
            local_batches=self.local_batches,
            local_epochs=self.local_epochs,
            learning_rate=self.learning_rate,
            exposure=24.0 if self.exposure is None else self.exposure,
            schedule=self.make_schedule(),
            fixed_batch=self.fixed_batch,
        )


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_belongs(settings: Settings) -> None:
    """Options that would have no effect are mistakes."""
    if settings.protocol == "fedsgd":
        for name in ("local_rows", "local_batches", "local_epochs"):
            if getattr(settings, name) != Settings.model_fields[name].default:
                raise InputError(f"The setting {name!r} belongs to the protocol fedavg; this is fedsgd.")
    if settings.protocol != "vertical":
        for name in ("people", "batches"):
            if getattr(settings, name) != Settings.model_fields[name].default:
                raise InputError(f"The setting {name!r} belongs to the protocol vertical; this is {settings.protocol}.")
    if settings.partition != "column" and settings.partition_column is not None:
        raise InputError("A partition column needs the partition 'column' (--partition column).")
    if settings.partition == "column" and settings.clients is not None:
        raise InputError("With the partition 'column' the column makes the clients; leave their number out.")


SEVERAL = {"model": "models", "defense": "defenses", "batch_size": "batch_sizes", "attack": "attacks"}
_KINDS = {"models": "model", "defenses": "defence", "attacks": "attack"}
_VERTICAL_KINDS = {"models": "model", "defenses": "vertical defence", "attacks": "vertical attack"}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Single values where several are allowed, specs written out, and options that are not text yet."""
    plain = dict(values)
    for one, several in SEVERAL.items():
        if one in plain and several in plain:
            raise InputError(f"There are both {one!r} and {several!r}; use {several!r} alone.")
        if one in plain:
            plain[several] = plain.pop(one)
    for name in (*SEVERAL.values(), "attack_points"):
        if name in plain and (isinstance(plain[name], str) or not isinstance(plain[name], Iterable)):
            plain[name] = (plain[name],)
    vertical = plain.get("protocol") == "vertical"
    if vertical and plain.get("attacks", ("exact",)) in (("exact",), ["exact"]):
        plain["attacks"] = ("cafe_closed_form",)  # the default of the other protocols says nothing here
    for name, kind in (_VERTICAL_KINDS if vertical else _KINDS).items():
        if name in plain:
            plain[name] = tuple(written_out(kind, str(spec)) for spec in plain[name])
    if "attack_points" in plain:
        plain["attack_points"] = tuple(str(point) for point in plain["attack_points"])
    for name in ("model_options", "attack_options"):
        if isinstance(plain.get(name), Mapping):
            plain[name] = {str(key): str(value) for key, value in plain[name].items()}
    return plain


def make_settings(**values: Any) -> Settings:
    """Settings from plain values; a mistake is one sentence."""
    values = _plain(values)
    for name in values:
        if name not in Settings.model_fields:
            raise unknown_name("setting", name, Settings.model_fields)
    for name, allowed in (("protocol", ProtocolName), ("partition", PartitionName)):
        if name in values and values[name] not in get_args(allowed):
            raise unknown_name(name, str(values[name]), get_args(allowed))
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"Setting {where!r} is {first['input']!r}: {message}.") from None
    _check_belongs(settings)
    return settings
