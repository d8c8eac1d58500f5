"""A trained model on disk: one folder for each party, nobody's weights in another's, each with its digests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from seepage._core import InputError
from seepage._core.files import digest, sealed, unsealed, write_atomically
from seepage._core.names import HOST
from seepage.data import Schema, Statistics
from seepage.federation.vertical.columns import Columns
from seepage.federation.vertical.training import Federation

MANIFEST = "party.json"
SavedKind = Literal["classifier", "regressor"]


def write_party(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a party's files, and last what they must be."""
    digests = {}
    for name, content in files.items():
        write_atomically(folder / name, content)
        digests[name] = digest(content.encode() if isinstance(content, str) else content)
    write_atomically(folder / MANIFEST, sealed(json.dumps({"files": digests}, indent=1)))


def party_files(columns: Columns, weights: Mapping[str, Tensor]) -> dict[str, str | bytes]:
    """A guest's part of a model: its weights, and how it reads its own columns."""
    statistics = {name: value.tolist() for name, value in asdict(columns.statistics).items()}
    return {
        "weights.safetensors": save(plain(weights)),
        "schema.toml": columns.schema.to_toml(),
        "statistics.json": json.dumps(statistics, indent=1),
    }


def read_party(folder: Path) -> dict[str, bytes]:
    """A party's files; one sentence if one of them is missing or is not what was written."""
    try:
        manifest = unsealed((folder / MANIFEST).read_bytes())
        names = json.loads(manifest)["files"] if manifest else None
        if not isinstance(names, dict) or any(Path(name).name != name for name in names):
            raise InputError(f"{folder / MANIFEST} is damaged; train the model again.")
        files = {name: (folder / name).read_bytes() for name in names}
    except OSError as error:
        name = Path(str(error.filename or folder)).name
        raise InputError(f"{folder} holds no whole party of a saved model: {name}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):  # sealed by somebody, and still no manifest
        raise InputError(f"{folder / MANIFEST} is damaged; train the model again.") from None
    for name, known in names.items():
        if digest(files[name]) != known:
            raise InputError(f"{folder / name} is damaged, or was changed after it was written; train the model again.")
    return files


def saved_whole(folder: Path) -> bool:
    """Whether a folder holds a saved model with nothing missing or damaged."""
    try:
        facts = json.loads(read_party(folder / HOST)["model.json"])
        for name in facts["guests"]:
            read_party(folder / name)
    except (InputError, ValueError, KeyError, TypeError):
        return False
    return True


def set_weights(modules: nn.Module, content: bytes, where: Path) -> None:
    """Give a party's modules the weights that were saved."""
    try:
        modules.load_state_dict(load(content))
    except (SafetensorError, RuntimeError, ValueError) as error:  # other tensors, or of other shapes
        reason = str(error).splitlines()[0]
        raise InputError(f"{where} does not hold this party's weights ({reason}).") from None


def weights_of(federation: Federation) -> dict[str, bytes]:
    """The weights of every party by its name, as they are saved."""
    return {name: save(plain(modules.state_dict())) for name, modules in _modules_of(federation).items()}


def take_weights(federation: Federation, weights: Mapping[str, bytes], where: Path) -> None:
    """Give every party its weights."""
    for name, modules in _modules_of(federation).items():
        set_weights(modules, weights[name], where / name / "weights.safetensors")


def _modules_of(federation: Federation) -> dict[str, nn.Module]:
    guests: dict[str, nn.Module] = {guest.name: guest.learning.modules for guest in federation.guests}
    return guests | {HOST: federation.host.learning.modules}


def plain(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state as it can be saved."""
    return {name: value.detach().clone().contiguous() for name, value in state.items()}


class Parameters(BaseModel):
    """The settings of a saved model, with the types they must have; a model that no honest training makes is none."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    design: str
    aggregation: str | None
    latent: Annotated[int, Field(ge=1, le=10_000)]
    steps: Annotated[int, Field(ge=1, le=1_000)]
    pretraining: int
    finetuning: int
    batch_size: int
    rate: float
    hidden: float
    sparsity: float
    patience: int
    validation: float
    failure_probability: float
    failure_method: str
    seed: int | None = None  # in models of earlier versions; it is not written
    parties: dict[str, list[str]] | dict[str, list[int]] | int | None


class SavedTarget(BaseModel):
    """What standardised a regressor's target."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    mean: float
    scale: Annotated[float, Field(gt=0)]


class SavedModel(BaseModel):
    """What a host's model.json says. Models of earlier versions are classifiers and do not count their features."""

    kind: SavedKind = "classifier"
    parameters: Parameters
    guests: Annotated[list[str], Field(min_length=1, max_length=10_000)]
    classes: Annotated[list[str] | list[int] | list[float] | list[bool], Field(min_length=2)] | None = None
    target: SavedTarget | None = None
    features: Annotated[int, Field(ge=1)] | None = None
    names: list[str] | None = None  # of the features, where they came in one table

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        needed = "classes" if self.kind == "classifier" else "target"
        if getattr(self, needed) is None:
            raise ValueError(f"a {self.kind} has {needed}")
        if self.names is not None and len(self.names) != self.features:
            raise ValueError(f"there are {len(self.names)} names of {self.features} features")
        return self


class SavedStatistics(BaseModel):
    """What a party's statistics.json says."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    shift: list[float]
    scale: list[float]


Saved = TypeVar("Saved", bound=BaseModel)


def facts_of(kind: type[Saved], files: Mapping[str, bytes], name: str, folder: Path) -> Saved:
    """What a JSON file of a party says; a sentence if it does not."""
    try:
        return kind.model_validate_json(files.get(name, b""))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{folder / name} is not what Seepage writes ({place}: {first['msg']}).") from None


def read_host(place: Path, kind: SavedKind) -> tuple[dict[str, bytes], SavedModel]:
    """The host's files of a model of this kind, and what they say."""
    if not (place / HOST / "model.json").exists():
        raise InputError(f"{place} holds no saved model: there is no {HOST}/model.json.")
    files = read_party(place / HOST)
    facts = facts_of(SavedModel, files, "model.json", place / HOST)
    if facts.kind != kind:
        raise InputError(f"{place} holds a {facts.kind}, not a {kind}; use TabVFL{facts.kind.capitalize()}.load.")
    return files, facts


def plain_json(value: Any) -> Any:
    """What JSON has no word for: arrays and numbers of numpy, tuples and ranges."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


def columns_of(name: str, files: Mapping[str, bytes], folder: Path) -> Columns:
    """A party's columns as they were saved."""
    try:
        text = files.get("schema.toml", b"").decode()
    except UnicodeDecodeError:
        raise InputError(f"{folder / 'schema.toml'} is not a schema file: it is not UTF-8 text.") from None
    schema = Schema.from_toml(text, str(folder / "schema.toml"))
    stored = facts_of(SavedStatistics, files, "statistics.json", folder)
    columns = Columns(name, schema, Statistics(np.array(stored.shift), np.array(stored.scale)))
    width = columns.encoder.layout.width
    if {len(stored.shift), len(stored.scale)} != {width}:
        raise InputError(
            f"{folder / 'statistics.json'} does not belong to the schema beside it: that has {width} inputs."
        )
    return columns
