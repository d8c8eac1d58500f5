"""What the server wrote into the protocol and so knows about an update: declared once, for files, commands, Python."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option

LOCAL = "Local training"
MOST, MOST_ROWS = 1_000_000, 1_000_000_000


class CaptureFacts(BaseModel):
    """The rules behind one update. What is null is not known, and attacks that need it say so.

    Moments of an optimiser start at zero in every round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    rows: Annotated[int, Field(ge=1, le=MOST_ROWS), Option(help="Rows behind the update.", group=MAIN)]
    batch_size: Annotated[
        int | None,
        Field(ge=1, le=MOST_ROWS),
        Option(help="Rows of one local step; all rows for a gradient.", group=MAIN),
    ] = None
    local_epochs: Annotated[
        int, Field(ge=1, le=MOST), Option(help="Passes over the rows before sending.", group=MAIN)
    ] = 1
    learning_rate: Annotated[
        float | None, Field(gt=0, le=MOST), Option(help="Of the local steps; not of the server.", group=MAIN)
    ] = None
    local_order: Annotated[
        Literal["shuffled", "kept"],
        Option(help="Every local epoch shuffles the rows anew, or keeps their order.", group=LOCAL),
    ] = "shuffled"
    optimiser: Annotated[
        Literal["sgd", "adam", "adamw"], Option(help="Of the local steps: sgd, adam or adamw.", group=LOCAL)
    ] = "sgd"
    momentum: Annotated[float, Field(ge=0, lt=1), Option(help="Of sgd.", group=LOCAL)] = 0.0
    nesterov: Annotated[bool, Option(help="Of sgd with momentum: look ahead, as Nesterov does.", group=LOCAL)] = False
    weight_decay: Annotated[float, Field(ge=0, le=MOST), Option(help="Of the optimiser.", group=LOCAL)] = 0.0
    beta1: Annotated[float, Field(ge=0, lt=1), Option(help="Of adam and adamw.", group=LOCAL)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1), Option(help="Of adam and adamw.", group=LOCAL)] = 0.999
    epsilon: Annotated[float, Field(gt=0, le=1), Option(help="Of adam and adamw.", group=LOCAL)] = 1e-8
    schedule: Annotated[
        Literal["constant", "linear", "cosine"],
        Option(help="How the rate falls over the local steps of a round.", group=LOCAL),
    ] = "constant"
    clip: Annotated[
        float, Field(ge=0, le=MOST), Option(help="Longest gradient of a batch; 0 clips nothing.", group=LOCAL)
    ] = 0.0
    proximal: Annotated[float, Field(ge=0, le=MOST), Option(help="FedProx: its mu.", group=LOCAL)] = 0.0

    batch_norm: Annotated[
        Literal["training", "stored"],
        Option(
            help="BatchNorm of the clients: in training mode, as torch has it, or with its stored statistics.",
            group=LOCAL,
        ),
    ] = "training"
    covered: Annotated[
        bool,
        Option(
            help="The update was changed before it was sent: noise, compression, rounding. Without this, what moved is "
            "taken for what somebody has.",
            group=LOCAL,
        ),
    ] = False

    @property
    def plain_steps(self) -> bool:
        """Whether a local step is nothing but the slope times a constant rate."""
        changed = {name for name in _STEP if getattr(self, name) != type(self).model_fields[name].default}
        return not changed

    def missing(self, kind: str) -> list[str]:
        """Names of facts that a replay of the update would need, and that are not known."""
        if kind == "gradient":
            return []
        return [name for name in ("batch_size", "learning_rate") if getattr(self, name) is None]

    def check(self, kind: str) -> None:
        """Stop with a sentence at facts that cannot be, or that an update of this kind does not have."""
        if kind == "gradient":
            for name in ("local_epochs", "local_order", *_STEP, "learning_rate"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise InputError(
                        f"A gradient has no local training, so {name!r} would have no effect; leave it out."
                    )
            if self.batch_size not in (None, self.rows):
                raise InputError(
                    f"A gradient is of one batch: {self.rows} rows and a batch size of {self.batch_size} do not agree."
                )
        elif self.batch_size is not None and self.batch_size > self.rows:
            raise InputError(f"The batch size is {self.batch_size}, more than the {self.rows} rows behind the update.")
        if self.nesterov and not self.momentum:
            raise InputError("Nesterov's way of looking ahead needs a momentum; say it too.")
        if self.momentum and self.optimiser != "sgd":
            raise InputError(f"The momentum belongs to sgd; the optimiser is {self.optimiser}.")


_STEP = (
    "optimiser", "momentum", "nesterov", "weight_decay", "beta1", "beta2", "epsilon", "schedule", "clip", "proximal",
)  # fmt: skip
