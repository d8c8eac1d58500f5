"""Everything that can change a number of the study of vertical training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seepage._core import InputError
from seepage._core.names import party_name
from seepage._core.option import MAIN, Option
from seepage.plans.options import MOST, MOST_ROWS, EachOnce, Settings
from seepage.studies.common import Seed

Phases = Literal["both", "no pretraining", "no fine-tuning"]
Method = Literal["cache", "zeros", "hybrid"]
TRAINING, ABSENT = "Advanced: training", "Advanced: absent guests"


class TrainingSettings(Settings):
    """The settings of vertical training.

    Either one table whose columns are dealt to guests (``data``), or the parties' own tables (``tables``), aligned by
    ``key``; the party that has the target is the host. Every combination of design, phases and failures is trained
    ``runs`` times, with other splits and seeds.
    """

    tables: Annotated[
        dict[str, str],
        Option(help="A party's own table, NAME=FILE; once for each party.", group=MAIN, flag="--table"),
    ] = Field(default_factory=dict)
    key: Annotated[str | None, Option(help="With --table: the column that says who a row is.", group=MAIN)] = None
    guests: Annotated[
        int | None,
        Field(ge=1, le=MOST),
        Option(help="With --data: parties among whom the columns are dealt; 5 if not given.", group=MAIN),
    ] = None
    designs: Annotated[
        tuple[str, ...],
        EachOnce,
        Option(
            help="Which part of TabNet is where (see `seepage designs list`), separated by commas.",
            group=MAIN,
            flag="--design",
            one="design",
            part="design",
        ),
    ] = ("tabvfl",)
    runs: Annotated[int, Field(ge=1, le=MOST), Option(help="Repeats with other splits and seeds.", group=MAIN)] = 1
    rows: Annotated[
        int,
        Field(ge=20, le=MOST_ROWS),
        Option(help="Rows at most, drawn with the classes in proportion.", group=TRAINING),
    ] = 50_000
    privacy: Annotated[bool, Option(help="Measure what host and guests read of each other.", group=MAIN)] = False
    seed: Seed = 0
    latent: Annotated[int, Field(ge=1, le=MOST), Option(help="Columns of the latent vector.", group=TRAINING)] = 5
    pretraining: Annotated[int, Field(ge=0, le=MOST), Option(help="Epochs of pretraining at most.", group=TRAINING)] = (
        100
    )
    finetuning: Annotated[int, Field(ge=0, le=MOST), Option(help="Epochs of fine-tuning at most.", group=TRAINING)] = (
        100
    )
    phases: Annotated[
        tuple[Phases, ...],
        EachOnce,
        Option(help="both, no pretraining, no fine-tuning; separated by commas.", group=TRAINING),
    ] = ("both",)
    batch_size: Annotated[int, Field(ge=1, le=MOST), Option(help="Rows of a mini batch.", group=TRAINING)] = 512
    rate: Annotated[float, Field(gt=0, le=MOST), Option(help="Of Adam.", group=TRAINING)] = 0.02
    patience: Annotated[
        int,
        Field(ge=0, le=MOST),
        Option(help="Epochs without progress before a phase stops; 0: to the end.", group=TRAINING),
    ] = 10
    evaluate: Annotated[
        bool, Option(help="Do not judge the latent by six predictors.", group=TRAINING, off="--no-evaluate")
    ] = True
    failure_probabilities: Annotated[
        tuple[Annotated[float, Field(ge=0, lt=1)], ...],
        EachOnce,
        Option(
            help="Chances that a guest is absent in an epoch: 0,0.2,0.35,0.5.",
            group=ABSENT,
            flag="--failures",
            one="failures",
        ),
    ] = (0.0,)
    failure_methods: Annotated[
        tuple[Method, ...],
        EachOnce,
        Option(help="What stands in for an absent guest: cache, zeros or hybrid, separated by commas.", group=ABSENT),
    ] = ("cache", "zeros")

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        for name in self.tables:
            party_name(name)
        if self.tables and not self.key:
            raise InputError("The parties' tables need --key, the column that says who a row is, and --target.")
        if self.tables and self.guests is not None:
            raise InputError("With the parties' own tables (--table) each party is a guest; leave --guests out.")
        if not self.tables and self.key:
            raise InputError("The key belongs to the parties' own tables (--table NAME=FILE).")
        methods = type(self).model_fields["failure_methods"].default
        if not any(self.failure_probabilities) and self.failure_methods != methods:
            raise InputError("Failure methods need guests that fail (--failures 0.2).")

    @property
    def parties(self) -> int:
        """How many guests there are."""
        return len(self.tables) or self.guests or 5
