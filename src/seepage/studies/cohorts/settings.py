"""Everything that can change a number of the study of cohorts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.plans.options import MOST, EachOnce, Settings
from seepage.results.cohorts import check_cohort
from seepage.studies.common import (
    ATTACKS,
    LEARNING,
    AttackOptions,
    Attacks,
    ModelOptions,
    Models,
    Numbers,
    PositiveWeight,
    Seed,
)

Protocol = Literal["fedsgd", "fedavg"]
USUAL = ("rows_of_sum", "stacked_sums", "groups", "difference", "lone_entries", "categories_of_sum")


class CohortsSettings(Settings):
    """The settings of an audit of sums over cohorts.

    Clients have ``rows_each`` rows and train on all of them in every round. In each round a cohort is drawn, and the
    server is given the sum over it and nothing else (secure aggregation). Every combination of model, cohort size,
    number of watched rounds and attack is tested in ``trials`` federations with other splits and weights.
    """

    clients: Annotated[int, Field(ge=2, le=MOST), Option(help="Clients of the federation.", group=MAIN)] = 20
    rows_each: Annotated[
        int, Field(ge=1, le=MOST), Option(help="Rows of each client, the same in every round.", group=MAIN)
    ] = 4
    cohort_sizes: Annotated[
        tuple[Annotated[int, Field(ge=0, le=MOST)], ...],
        EachOnce,
        Option(
            help="Clients whose updates are added up in a round; several, separated by commas.",
            group=MAIN,
            flag="--cohort-sizes",
            one="cohort_size",
        ),
    ] = (2, 4, 8, 16)
    rounds: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...],
        EachOnce,
        Option(help="Rounds that the server watches; several, separated by commas.", group=MAIN, flag="--rounds"),
    ] = (1, 5)
    models: Models = ("mlp",)
    attacks: Attacks = USUAL
    trials: Annotated[
        int,
        Field(ge=1, le=MOST),
        Option(help="Federations with other splits and weights, per setting.", group=LEARNING),
    ] = 5
    seed: Seed = 0
    attack_options: AttackOptions = Field(default_factory=dict)
    labels_known: Annotated[bool, Option(help="The attacker knows the labels of a cohort's rows.", group=ATTACKS)] = (
        False
    )
    cohorts: Annotated[
        Literal["drawn", "same"],
        Option(help="The cohort of a round is drawn anew, or the same in all rounds: drawn or same.", group=LEARNING),
    ] = "drawn"
    protocol: Annotated[Protocol, Option(help="fedsgd or fedavg.", group=LEARNING)] = "fedsgd"
    local_epochs: Annotated[
        int, Field(ge=1, le=MOST), Option(help="fedavg: passes over the rows before sending.", group=LEARNING)
    ] = 1
    learning_rate: Annotated[
        float,
        Field(gt=0, le=MOST),
        Option(help="Of the server (fedsgd) or of the local steps (fedavg).", group=LEARNING),
    ] = 0.1
    apart: Annotated[
        int,
        Field(ge=0, le=1000),
        Option(help="Further rounds between two that are watched, in which the model learns.", group=LEARNING),
    ] = 0
    model_options: ModelOptions = Field(default_factory=dict)
    positive_weight: PositiveWeight = 1.0
    numbers: Numbers = "standard"

    def stays(self, cohort_size: int) -> bool:
        """Whether the same clients take part in every round."""
        return self.cohorts == "same" or cohort_size == self.clients

    def belongs(self) -> None:
        """Options that would have no effect are mistakes, and so are cohorts that cannot be."""
        if self.protocol == "fedsgd" and self.local_epochs != 1:
            raise InputError("The setting 'local_epochs' belongs to the protocol fedavg; this is fedsgd.")
        if self.apart and max(self.rounds) == 1:
            raise InputError("The setting 'apart' is about rounds between two that are watched; only one is.")
        for size in self.cohort_sizes:
            check_cohort(size, self.clients)
