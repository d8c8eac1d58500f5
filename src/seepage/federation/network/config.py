"""What a party's configuration says: one TOML file of its own, with paths beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from seepage._core import InputError, unknown_name
from seepage._core.names import party_name
from seepage.data.row_keys import Case, Duplicates, KeyFormat, Spaces
from seepage.data.toml_files import document_of, read_text
from seepage.federation.network.address import check_plain, checked_address
from seepage.federation.network.certificates import Identity, read_identity
from seepage.federation.network.remote import Patience
from seepage.federation.vertical import AGGREGATIONS, DESIGNS, Training

MOST = 1_000_000
Columns = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
Seconds = Annotated[float, Field(gt=0, le=1e7)]


class _Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tls(_Config):
    """Certificates, by their files."""

    authority: Path
    certificate: Path
    key: Path


class KeyConfig(_Config):
    """How keys are written before they are compared; the same at all parties."""

    case: Case = "keep"
    spaces: Spaces = "ends"
    duplicates: Duplicates = "refuse"

    @property
    def form(self) -> KeyFormat:
        """As keys are read."""
        return KeyFormat(case=self.case, spaces=self.spaces, duplicates=self.duplicates)


class PartyConfig(_Config):
    """What every party says.

    Args:
        name: of this party; its certificate must have it.
        table: its file.
        key: columns that say who a row is; none if all files are in the same order already.
        leave_out: columns that are not trained on.
        folder: of its own; states, model and log lie there.
        tls: its certificates.
        plain: no certificates; for addresses of this machine only.
        most_keys: keys that the other side may bring to the intersection.
        seed: for experiments: draws the same weights again, and whoever knows it can do so too.
        threads: of its calculations.
    """

    name: str
    table: Path
    key: Columns = ()
    leave_out: Annotated[Columns, Field(max_length=100_000)] = ()
    key_format: KeyConfig = KeyConfig()
    folder: Path
    tls: Tls | None = None
    plain: bool = False
    most_keys: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000_000
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    threads: Annotated[int, Field(ge=1, le=1024)] = 1

    @field_validator("name")
    @classmethod
    def _named(cls, name: str) -> str:
        return party_name(name)

    @model_validator(mode="after")
    def _secured(self) -> PartyConfig:
        if (self.tls is None) != self.plain:
            raise InputError("Say [tls] with the files of your certificate, or plain = true; one of the two.")
        return self

    def identity(self) -> Identity | None:
        """The party's certificate and key, of its own name."""
        if self.tls is None:
            return None
        found = read_identity(self.tls.authority, self.tls.certificate, self.tls.key)
        if self.name not in found.names:
            raise InputError(f"{self.tls.certificate} is for {', '.join(found.names) or 'nobody'}, not {self.name!r}.")
        return found


class GuestConfig(PartyConfig):
    """A guest: a party with columns and without the labels.

    Args:
        host: the party that may ask.
        listen: the address that it listens at.
        new: a table of new people to predict.
    """

    host: str
    listen: str
    new: Path | None = None

    @model_validator(mode="after")
    def _reachable(self) -> GuestConfig:
        party_name(self.host)
        if self.host == self.name:
            raise InputError(f"Host and guest are both called {self.name!r}.")
        checked_address(self.listen)
        if self.plain:
            check_plain(self.listen)
        return self


class TrainingConfig(_Config):
    """How all parties train; as the options of `seepage train`."""

    design: str = "tabvfl"
    aggregation: str | None = None
    latent: Annotated[int, Field(ge=1, le=10_000)] = 5
    steps: Annotated[int, Field(ge=1, le=100)] = 3
    pretraining: Annotated[int, Field(ge=0, le=MOST)] = 100
    finetuning: Annotated[int, Field(ge=0, le=MOST)] = 100
    batch_size: Annotated[int, Field(ge=2, le=MOST)] = 512
    rate: Annotated[float, Field(gt=0, le=1e6)] = 0.02
    hidden: Annotated[float, Field(gt=0, lt=1)] = 0.2
    sparsity: Annotated[float, Field(ge=0, le=1e6)] = 1e-3
    patience: Annotated[int, Field(ge=0, le=MOST)] = 10
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.15
    test: Annotated[float, Field(gt=0, lt=1)] = 0.15

    @model_validator(mode="after")
    def _known(self) -> TrainingConfig:
        split = [name for name in DESIGNS if name != "central"]  # which is one party with everybody's columns
        if self.design not in split:
            raise unknown_name("design for several parties", self.design, split)
        if self.aggregation is not None and self.aggregation not in AGGREGATIONS:
            raise unknown_name("aggregation", self.aggregation, AGGREGATIONS)
        if self.validation + self.test >= 1:
            taken = self.validation + self.test
            raise InputError(f"Validation and test take {taken:.0%} of the rows; nothing is left to train on.")
        return self

    @property
    def training(self) -> Training:
        """As parties use it."""
        names = ("pretraining", "finetuning", "batch_size", "rate", "hidden", "sparsity", "patience")
        return Training(**{name: getattr(self, name) for name in names})


class PatienceConfig(_Config):
    """How long the host waits, in seconds."""

    answer: Seconds = Patience.answer
    arrange: Seconds = Patience.arrange
    connect: Seconds = Patience.connect

    @property
    def patience(self) -> Patience:
        """As the host uses it."""
        return Patience(answer=self.answer, arrange=self.arrange, connect=self.connect)


class HostConfig(PartyConfig):
    """The host: the party with the labels.

    Args:
        target: the column of the labels.
        guests: the guests' addresses, by their names.
        absent: what happens when a guest is silent: its last results stand in (``cache``), zeros do, the cache with
            zeros while it is empty (``hybrid``), or the host waits and repeats the epoch (``wait``).
        columns: False keeps the host's own columns out of the model.
    """

    target: str
    guests: Annotated[dict[str, str], Field(min_length=1, max_length=1_000)]
    absent: Literal["cache", "zeros", "hybrid", "wait"] = "cache"
    columns: bool = True
    training: TrainingConfig = TrainingConfig()
    patience: PatienceConfig = PatienceConfig()

    @model_validator(mode="after")
    def _reaching(self) -> HostConfig:
        for name, address in self.guests.items():
            party_name(name)
            checked_address(address)
            if self.plain:
                check_plain(address)
            if name == self.name:
                raise InputError(f"The host and a guest are both called {name!r}.")
        if len(set(self.guests.values())) < len(self.guests):
            raise InputError("Two guests have the same address; each listens at its own.")
        if self.target in self.key:
            raise InputError(f"{self.target!r} is both the target and a key.")
        return self


Kind = TypeVar("Kind", GuestConfig, HostConfig)


def read_config(kind: type[Kind], path: Path) -> Kind:
    """A party's configuration; paths in it count from its own folder, and a mistake is one sentence."""
    found = document_of(read_text(path, "configuration"), str(path))
    try:
        config = kind.model_validate(found)
    except ValidationError as error:
        raise InputError(f"{path}: {_sentence(error, kind)}") from None
    return config.model_copy(update=_placed(config, path.parent))


def _placed(config: PartyConfig, folder: Path) -> dict[str, object]:
    placed: dict[str, object] = {
        name: folder / value for name, value in config.__dict__.items() if isinstance(value, Path)
    }
    if config.tls is not None:
        placed["tls"] = Tls(**{name: folder / value for name, value in config.tls.__dict__.items()})
    return placed


def _sentence(error: ValidationError, kind: type[BaseModel]) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"the setting {place!r} is missing."
    if first["type"] == "extra_forbidden":
        inner: dict[str, type[BaseModel]] = {
            "training": TrainingConfig,
            "patience": PatienceConfig,
            "tls": Tls,
            "key_format": KeyConfig,
        }
        known = inner.get(str(first["loc"][0]), KeyConfig) if len(first["loc"]) > 1 else kind
        return str(unknown_name("setting", str(first["loc"][-1]), known.model_fields))
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}."
