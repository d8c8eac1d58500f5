"""Everything that can change a number of the study of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.plans import registry
from seepage.plans.options import MOST, MOST_ROWS, EachOnce, Settings
from seepage.results import MatchingName
from seepage.studies.common import (
    ATTACKS,
    LEARNING,
    MOST_WATCHED,
    AttackOptions,
    Attacks,
    BatchSizes,
    Defenses,
    ModelOptions,
    Models,
    Numbers,
    PositiveWeight,
    Reveal,
    Seed,
)
from seepage.studies.rows.scenarios import Scenario, with_scenario

_FEDAVG = (
    "local_rows", "local_batches", "local_epochs", "local_order", "only_local_rows",
    "optimiser", "rate_schedule", "clip_norm", "proximal",
)  # fmt: skip
Protocol = Literal["fedsgd", "fedavg"]
RateSchedule = Literal["constant", "linear", "cosine"]
PartitionName = Literal["iid", "dirichlet", "quantity", "column"]


def _texts(value: Any) -> Any:
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else value


class RowsSettings(Settings):
    """The settings of an audit of clients' updates.

    Models, defences and attacks are specs: a name, and options after colons (``dp_sgd:clip=1:noise=0.5``). Every
    combination of model, defence, batch size, attack point and attack is tested. ``trials`` counts attacked batches per
    cell: clients are attacked together, and further federations with new splits and new initial parameters are trained
    until there are enough.
    """

    scenario: Annotated[
        Scenario,
        Option(
            help="What federations of a kind really do: worst_case (one small batch an update), cross_silo (a few "
            "hospitals, all rows, Adam) or cross_device (many clients, tens of rows). Options change it one by one.",
            group=MAIN,
        ),
    ] = "worst_case"
    protocol: Annotated[Protocol, Option(help="fedsgd or fedavg.", group=LEARNING)] = "fedsgd"
    models: Models = ("mlp",)
    defenses: Defenses = ("none",)
    batch_sizes: BatchSizes = (8,)
    attacks: Attacks = ("exact",)
    trials: Annotated[int, Field(ge=1, le=MOST), Option(help="Attacked batches per setting.", group=MAIN)] = 10
    seed: Seed = 0
    reveal: Reveal = False
    attack_points: Annotated[
        tuple[str, ...],
        EachOnce,
        BeforeValidator(_texts),
        Option(
            help="When updates are attacked: initialized, 25%, 50%, 75%, final; or auto for all five; or exposures "
            "such as 0,1,5.",
            group=ATTACKS,
        ),
    ] = ("initialized", "final")
    rounds: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MOST_WATCHED)], ...],
        EachOnce,
        Option(
            help="How many rounds of each client the attacker joins, from each attack point on: 1,2,5. Attacks on one "
            "update are only tried with 1.",
            group=ATTACKS,
        ),
    ] = (1,)
    attack_options: AttackOptions = Field(default_factory=dict)
    labels_known: Annotated[
        bool, Option(help="The attacker does not know the labels.", group=ATTACKS, off="--labels-unknown")
    ] = True
    ranges_known: Annotated[bool, Option(help="The attacker knows the range of every number.", group=ATTACKS)] = False
    whole_known: Annotated[
        bool,
        Option(
            help="The attacker knows which numbers are whole, as it does with --ranges-known, but no ranges.",
            group=ATTACKS,
        ),
    ] = False
    local_statistics: Annotated[
        bool,
        Option(
            help="Clients scale with pooled statistics, which the attacker knows.",
            group=ATTACKS,
            off="--global-statistics",
        ),
    ] = True
    deviation: Annotated[
        Literal["client", "global"],
        Option(
            help="A number counts as read within a tolerance of the client's deviations, or of the global ones.",
            group=ATTACKS,
        ),
    ] = "client"
    matching: Annotated[
        MatchingName,
        Option(
            help="How read rows are paired with true ones, and guessed rows alike: l1 (distance of encoded rows), "
            "cells (right cells, TabLeak) or study (distance of the attack's variables, the profiling study).",
            group=ATTACKS,
        ),
    ] = "l1"
    model_options: ModelOptions = Field(default_factory=dict)
    clients: Annotated[
        int | None,
        Field(ge=1, le=MOST),
        Option(help="Clients; 10 for fedsgd, 3 for fedavg if not given.", group=LEARNING),
    ] = None
    partition: Annotated[
        PartitionName,
        Option(help="How rows are divided over clients: iid, dirichlet, quantity or column.", group=LEARNING),
    ] = "iid"
    alpha: Annotated[
        float, Field(gt=0, le=MOST), Option(help="Of dirichlet and quantity: smaller is more uneven.", group=LEARNING)
    ] = 1.0
    partition_column: Annotated[
        str | None, Option(help="Of the partition column: each of its values is a client.", group=LEARNING)
    ] = None
    exposure: Annotated[
        float | None,
        Field(ge=0, le=MOST),
        Option(
            help="Train until each client saw its rows this often; 25 for fedsgd, 24 for fedavg if not given.",
            group=LEARNING,
        ),
    ] = None
    learning_rate: Annotated[
        float,
        Field(gt=0, le=MOST),
        Option(help="Of the server (fedsgd) or of the local steps (fedavg).", group=LEARNING),
    ] = 0.01
    local_rows: Annotated[
        Annotated[int, Field(ge=1, le=MOST_ROWS)] | Literal["all"],
        Option(help="fedavg: rows each client works on, or all.", group=LEARNING),
    ] = 32
    local_batches: Annotated[
        int | None, Field(ge=1, le=MOST), Option(help="fedavg: mini batches a round; all if not given.", group=LEARNING)
    ] = None
    local_epochs: Annotated[
        int, Field(ge=1, le=MOST), Option(help="fedavg: passes over the rows before sending.", group=LEARNING)
    ] = 1
    local_order: Annotated[
        Literal["shuffled", "kept"],
        Option(help="fedavg: every local epoch shuffles the rows anew, or keeps their order.", group=LEARNING),
    ] = "shuffled"
    only_local_rows: Annotated[
        bool,
        Option(
            help="fedavg: a client has no rows beside its local ones, so its scaling is of these alone.", group=LEARNING
        ),
    ] = False
    optimiser: Annotated[
        str,
        Option(
            help="fedavg: of the local steps (see `seepage optimisers list`), such as sgd:momentum=0.9, adam or adamw.",
            group=LEARNING,
            part="optimiser",
        ),
    ] = "sgd"
    rate_schedule: Annotated[
        RateSchedule,
        Option(
            help="fedavg: how the learning rate falls over the local steps of a round: constant, linear or cosine.",
            group=LEARNING,
        ),
    ] = "constant"
    clip_norm: Annotated[
        float,
        Field(ge=0, le=MOST),
        Option(help="fedavg: the longest that a batch's gradient may be; 0 for any length.", group=LEARNING),
    ] = 0.0
    proximal: Annotated[
        float,
        Field(ge=0, le=MOST),
        Option(help="fedavg: FedProx's mu, which holds weights at those that were sent out.", group=LEARNING),
    ] = 0.0
    participation: Annotated[
        float, Field(gt=0, le=1), Option(help="Share of the clients that take part in a round.", group=LEARNING)
    ] = 1.0
    server: Annotated[
        str,
        Option(
            help="What the server does with the mean (see `seepage servers list`): mean, fedavgm, fedadam or fedyogi.",
            group=LEARNING,
            part="server",
        ),
    ] = "mean"
    batch_norm: Annotated[
        Literal["stored", "training", "local"],
        Option(
            help="BatchNorm uses its stored statistics, which stay (stored); or a batch's own, and the running ones "
            "are sent (training) or not (local).",
            group=LEARNING,
        ),
    ] = "stored"
    fixed_batch: Annotated[
        bool, Option(help="Attack the same batch of each client at every point.", group=LEARNING)
    ] = False
    loss: Annotated[
        str,
        Option(
            help="What clients minimise: task, or package.module:function of your own (outputs, targets) -> mean loss.",
            group=LEARNING,
            part="criterion",
        ),
    ] = "task"
    positive_weight: PositiveWeight = 1.0
    numbers: Numbers = "standard"
    targets: Annotated[
        Literal["standard", "none"],
        Option(help="How a regression target is scaled: standard or none.", group=LEARNING),
    ] = "standard"
    standardise_onehot: Annotated[
        bool, Option(help="Standardise one-hot inputs too, as TabLeak does.", group=LEARNING)
    ] = False

    @model_validator(mode="before")
    @classmethod
    def _of_scenario(cls, values: object) -> object:
        return with_scenario(values) if isinstance(values, Mapping) else values

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        if self.protocol == "fedsgd":
            for name in _FEDAVG:
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise InputError(f"The setting {name!r} belongs to the protocol fedavg; this is fedsgd.")
        if self.rounds != (1,):
            self._joins()
        if self.only_local_rows and self.local_rows == "all":
            raise InputError("The setting 'only_local_rows' needs a number of local rows; they are all.")
        if self.ranges_known and self.whole_known:
            raise InputError("Who knows the ranges knows which numbers are whole: leave --whole-known out.")
        if self.partition != "column" and self.partition_column is not None:
            raise InputError("A partition column needs the partition 'column' (--partition column).")
        if self.partition == "column" and self.clients is not None:
            raise InputError("With the partition 'column' the column makes the clients; leave their number out.")
        if self.partition in ("iid", "column") and self.alpha != type(self).model_fields["alpha"].default:
            raise InputError(
                f"The setting 'alpha' belongs to the partitions dirichlet and quantity; this is {self.partition}."
            )
        if self.partition == "column" and not self.partition_column:
            raise InputError("Partition by column needs the column's name (--partition-column).")

    def _joins(self) -> None:
        alone = [name for name in self.attacks if not registry.joins_rounds(name, "rows")]
        if 1 not in self.rounds and alone:
            raise InputError(
                f"The attack {alone[0]!r} works on one update, and 1 is not among the rounds "
                f"({', '.join(map(str, self.rounds))}): add it, or leave the attack out."
            )
        if len(alone) == len(self.attacks):
            raise InputError(f"None of the attacks ({', '.join(self.attacks)}) joins rounds; exact does.")

    @property
    def tried(self) -> list[tuple[str, int]]:
        """Attacks with the rounds that each of them joins; those on one update are not tried on more."""
        return [
            (name, many)
            for name in self.attacks
            for many in self.rounds
            if many == 1 or registry.joins_rounds(name, "rows")
        ]

    @property
    def client_count(self) -> int:
        """10 clients for FedSGD and 3 for FedAvg unless said otherwise, as in the profiling study."""
        return self.clients or (10 if self.protocol == "fedsgd" else 3)

    @property
    def largest_client(self) -> int | None:
        """The rows that a client keeps of its share; None for all."""
        return int(self.local_rows) if self.only_local_rows else None

    @property
    def defended(self) -> tuple[str, ...]:
        """The defences that do something."""
        return tuple(spec for spec in self.defenses if spec != "none")
