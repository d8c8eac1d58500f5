"""What host and guest agree on before they train: typed facts, each bounded, none of them about a row."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from seepage.federation.vertical import Training
from seepage.federation.vertical.messages import PartyError
from seepage.models.tabnet_split import TabNetParts

MOST_ROWS = 10_000_000
MOST_WIDTH = 100_000


class Step(StrEnum):
    """What the host asks of a guest beside the training itself."""

    HELLO = "hello"  # which run -> whether the guest knows it
    ALIGN = "align"  # the host's points -> the guest's
    ALIGNED = "aligned"  # where in its list the guest finds the common rows -> how many
    SET_UP = "set up"  # design, sizes, training rows -> the width of its columns
    FINISH = "finish"  # write the model
    PREDICT = "predict"  # the rows that were aligned last are new people


class Facts(BaseModel):
    """Facts that cross."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Hello(Facts):
    """Of which run the host speaks, and to whom."""

    run: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    guest: Annotated[str, Field(max_length=64)]


class Greeted(Facts):
    """What a guest says of itself.

    Args:
        seepage: its version.
        ready: it knows the run, its rows and its model.
    """

    seepage: Annotated[str, Field(max_length=64)]
    ready: bool


class Align(Facts):
    """How common rows are found.

    Args:
        way: ``psi``: by private set intersection, in this session of it. ``order``: the files are aligned already.
        table: the rows to train on, or new people.
        rows: of the host, where the order is the alignment.
    """

    way: Literal["psi", "order"]
    table: Literal["training", "new"]
    session: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    rows: Annotated[int, Field(ge=0, le=MOST_ROWS)] = 0


class Aligned(Facts):
    """How many rows are common."""

    rows: Annotated[int, Field(ge=0, le=MOST_ROWS)]


class Parts(Facts):
    """Sizes of the model."""

    latent: Annotated[int, Field(ge=1, le=10_000)]
    attention: Annotated[int, Field(ge=1, le=10_000)]
    steps: Annotated[int, Field(ge=1, le=100)]
    virtual_batch: Annotated[int, Field(ge=2, le=1_000_000)]

    @property
    def parts(self) -> TabNetParts:
        """As models are built."""
        return TabNetParts(
            latent=self.latent, attention=self.attention, steps=self.steps, virtual_batch=self.virtual_batch
        )


class Schedule(Facts):
    """How the federation trains; what a guest needs of :class:`Training`."""

    pretraining: Annotated[int, Field(ge=0, le=1_000_000)]
    finetuning: Annotated[int, Field(ge=0, le=1_000_000)]
    batch_size: Annotated[int, Field(ge=2, le=1_000_000)]
    rate: Annotated[float, Field(gt=0, le=1e6)]
    clip: Annotated[float, Field(gt=0, le=1e9)]
    hidden: Annotated[float, Field(gt=0, lt=1)]
    sparsity: Annotated[float, Field(ge=0, le=1e6)]
    patience: Annotated[int, Field(ge=0, le=1_000_000)]

    @property
    def training(self) -> Training:
        """As parties use it."""
        return Training(**self.model_dump())


class SetUp(Facts):
    """What a guest builds its part of the model from; the training rows come as batch ids.

    Args:
        target: the column of the host's labels, so that a guest that has it too can say so.
    """

    target: Annotated[str, Field(max_length=1_000)]
    design: Annotated[str, Field(max_length=64)]
    aggregation: Annotated[str, Field(max_length=64)] | None
    place: Annotated[int, Field(ge=0, le=10_000)]
    guests: Annotated[int, Field(ge=1, le=10_000)]
    parts: Parts
    schedule: Schedule


class Width(Facts):
    """Encoded columns of a guest."""

    width: Annotated[int, Field(ge=1, le=MOST_WIDTH)]


Found = TypeVar("Found", bound=Facts)


def read_facts(kind: type[Found], facts: Mapping[str, JsonValue], sender: str) -> Found:
    """Facts after a check; a sentence that names the party if they are not what they should be."""
    try:
        return kind.model_validate(dict(facts))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or kind.__name__
        raise PartyError(
            f"Party {sender!r} sent facts that do not fit ({kind.__name__}, {place}: {first['msg']})."
        ) from None
