"""Everything that can change a number of the study of vertical gradients."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.plans.options import MOST, MOST_ROWS, Settings
from seepage.studies.common import (
    LEARNING,
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

EXTRA = 1.1  # batches for each person: as many as there are people determine them, a few more make it well-conditioned


class VerticalSettings(Settings):
    """The settings of an audit of vertical gradients.

    Workers hold different columns of the same people; the server picks the people of every batch and gets one gradient
    for all of them. Every combination of model, defence, number of people, batch size and attack is tested. A trial
    draws other people and other first weights, and recovers everyone's row once.
    """

    models: Models = ("mlp",)
    defenses: Defenses = ("none",)
    people: Annotated[int, Field(ge=2, le=MOST_ROWS), Option(help="Aligned rows at the workers.", group=MAIN)] = 2000
    batch_sizes: BatchSizes = (8,)
    attacks: Attacks = ("spans", "cafe_closed_form")
    trials: Annotated[
        int, Field(ge=1, le=MOST), Option(help="How often everyone's rows are recovered.", group=MAIN)
    ] = 3
    seed: Seed = 0
    reveal: Reveal = False
    batches: Annotated[
        int | None, Field(ge=1, le=MOST), Option(help="Batches seen; 1.1 for each person if not given.", group=LEARNING)
    ] = None
    watch: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MOST)], ...],
        Option(
            help="After how many batches it is also measured what has been read so far, separated by commas.",
            group=LEARNING,
        ),
    ] = ()
    moving: Annotated[
        bool, Option(help="The model trains while it is watched; its weights are fixed if not given.", group=LEARNING)
    ] = False
    optimiser: Annotated[Literal["sgd", "adam"], Option(help="sgd or adam: how the server trains.", group=LEARNING)] = (
        "sgd"
    )
    learning_rate: Annotated[float, Field(gt=0, le=MOST), Option(help="Of the server.", group=LEARNING)] = 0.01
    positive_weight: PositiveWeight = 1.0
    numbers: Numbers = "standard"
    model_options: ModelOptions = Field(default_factory=dict)
    attack_options: AttackOptions = Field(default_factory=dict)

    @field_validator("watch")
    @classmethod
    def _rising(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if list(value) != sorted(set(value)):
            raise ValueError("needs rising numbers, each once")
        return value

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        if self.watch and self.watch[-1] > self.batches_seen:
            raise InputError(
                f"Batch {self.watch[-1]} is to be watched (--watch); the server sees only {self.batches_seen} batches."
            )
        if not self.moving and not self.defended:
            for name in ("optimiser", "learning_rate"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise InputError(
                        f"The setting {name!r} belongs to a model that trains (--moving), or to a defence, whose price "
                        "is a training loss; here the weights are fixed and nothing is defended."
                    )

    @property
    def batches_seen(self) -> int:
        """How many batches the server sees."""
        return self.batches or round(EXTRA * self.people)

    @property
    def defended(self) -> tuple[str, ...]:
        """The defences that do something."""
        return tuple(spec for spec in self.defenses if spec != "none")
