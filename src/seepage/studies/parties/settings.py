"""Everything that can change a number of the study of parties."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.plans.options import MOST, MOST_ROWS, Settings
from seepage.studies.common import ATTACKS, Attacks, Defenses, Seed
from seepage.studies.training.settings import (
    TRAINING,
    BatchSize,
    Designs,
    Finetuning,
    KeyColumns,
    Latent,
    Patience,
    Pretraining,
    Rate,
    Tables,
    TrainingSettings,
    check_parties,
)

# Those that need no weights of another party.
USUAL = (
    "as_sent",
    "known_rows",
    "zeros_and_ones",
    "gradient_norm",
    "gradient_direction",
    "gradient_clusters",
    "model_completion",
    "gradient_completion",
)
WITH_WEIGHTS = ("equality_solving", "generative_regression")


class PartiesSettings(Settings):
    """The settings of an audit of parties.

    Several parties train one model over their columns; every message that crosses is recorded. The host, which has the
    labels and the columns of the first party (or those of the party that has the target), reads the columns of the
    others in what it was sent; the others read its labels. Every combination of design, defence and attack is tested
    in ``runs`` trainings with other splits and seeds.
    """

    tables: Tables = Field(default_factory=dict)
    keys: KeyColumns = ()
    guests: Annotated[
        int | None,
        Field(ge=1, le=MOST),
        Option(
            help="With --data: parties among whom the columns are dealt, the first of them the host; 2 if not given.",
            group=MAIN,
        ),
    ] = None
    designs: Designs = ("tabvfl",)
    defenses: Defenses = ("none",)
    attacks: Attacks = USUAL
    runs: Annotated[int, Field(ge=1, le=MOST), Option(help="Repeats with other splits and seeds.", group=TRAINING)] = 3
    known_rows: Annotated[
        int | None,
        Field(ge=2, le=MOST),
        Option(
            help="Rows of a guest that the host knows anyway; one more than it has encoded columns if not given.",
            group=ATTACKS,
        ),
    ] = None
    known_labels: Annotated[
        int, Field(ge=1, le=MOST), Option(help="Labels of each class that a guest knows anyway.", group=ATTACKS)
    ] = 10
    predictions: Annotated[
        int,
        Field(ge=1, le=100),
        Option(help="How often every row is predicted after training; fresh noise averages out.", group=ATTACKS),
    ] = 4
    rows: Annotated[
        int,
        Field(ge=60, le=MOST_ROWS),
        Option(help="Rows at most, drawn with the classes in proportion.", group=TRAINING),
    ] = 4000
    seed: Seed = 0
    latent: Latent = 5
    pretraining: Pretraining = 3
    finetuning: Finetuning = 10
    batch_size: BatchSize = 256
    rate: Rate = 0.02
    patience: Patience = 0

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        check_parties(self.tables, self.keys, self.guests)
        if self.parties < 2:
            raise InputError("There is 1 party; what parties read of each other needs at least 2.")

    @property
    def parties(self) -> int:
        """How many have columns; the host is one of them."""
        return len(self.tables) or self.guests or 2

    @property
    def handed_over(self) -> bool:
        """Whether an attack needs the trained model of all parties."""
        return any(spec.partition(":")[0] in WITH_WEIGHTS for spec in self.attacks)

    @property
    def training(self) -> TrainingSettings:
        """How the parties train."""
        shared = ("rows", "seed", "latent", "pretraining", "finetuning", "batch_size", "rate", "patience")
        own = {name: getattr(self, name) for name in shared}
        whose = {"tables": self.tables, "keys": self.keys} if self.tables else {"guests": self.parties}
        return TrainingSettings.model_validate(own | whose)
