"""Everything that can change a number of the study of cheating servers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.plans.options import MOST, EachOnce, Settings
from seepage.studies.common import (
    ATTACKS,
    LEARNING,
    AttackOptions,
    Attacks,
    BatchSizes,
    ModelOptions,
    Models,
    Numbers,
    PositiveWeight,
    Seed,
)

ProtocolName = Literal["fedsgd", "fedavg"]
Public = Literal["sample", "marginals", "ranges"]
_FEDAVG = ("local_batch", "local_epochs", "learning_rate")


class ServersSettings(Settings):
    """The settings of an audit of a cheating server.

    The server sends weights of its own making; a client answers with the gradient of its rows (FedSGD) or with its
    change after local training (FedAvg). Every combination of protocol, model, number of rows, number of rounds and
    attack is tested on ``trials`` clients. ``batch_sizes`` are the rows behind an update.
    """

    protocols: Annotated[
        tuple[ProtocolName, ...],
        EachOnce,
        Option(help="fedsgd or fedavg, or both.", group=MAIN, flag="--protocol", one="protocol"),
    ] = ("fedsgd",)
    models: Models = ("mlp:width=1000:activation=relu:norm=none",)
    batch_sizes: BatchSizes = (64, 512)
    rounds: Annotated[
        tuple[Annotated[int, Field(ge=1, le=50)], ...],
        EachOnce,
        Option(help="Rounds in which the server cheats, on the same rows; only some attacks use several.", group=MAIN),
    ] = (1,)
    attacks: Attacks = ("bins", "codes", "cuts", "module")
    trials: Annotated[int, Field(ge=1, le=MOST), Option(help="Attacked clients per setting.", group=MAIN)] = 5
    seed: Seed = 0
    attack_options: AttackOptions = Field(default_factory=dict)
    public: Annotated[
        Public,
        Option(
            help="What the server knows of the table: a sample of rows that no client has, the marginals of its "
            "columns, or ranges and categories alone.",
            group=ATTACKS,
        ),
    ] = "sample"
    public_rows: Annotated[
        int, Field(ge=10, le=MOST), Option(help="Rows that the server makes up from it.", group=ATTACKS)
    ] = 1000
    model_options: ModelOptions = Field(default_factory=dict)
    local_batch: Annotated[int, Field(ge=1, le=MOST), Option(help="fedavg: rows of a local step.", group=LEARNING)] = 32
    local_epochs: Annotated[
        int, Field(ge=1, le=MOST), Option(help="fedavg: passes over the rows before sending.", group=LEARNING)
    ] = 1
    learning_rate: Annotated[
        float, Field(gt=0, le=MOST), Option(help="fedavg: of the local steps.", group=LEARNING)
    ] = 0.01
    numbers: Numbers = "standard"
    positive_weight: PositiveWeight = 1.0

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        if "fedavg" not in self.protocols:
            for name in _FEDAVG:
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise InputError(f"The setting {name!r} belongs to the protocol fedavg; this is fedsgd.")
