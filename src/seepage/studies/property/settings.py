"""Everything that can change a number of the study of properties."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.plans.options import MOST, MOST_ROWS, EachOnce, Settings
from seepage.studies.common import Defenses, Seed

MODELS, ROWS = "Advanced: models", "Advanced: rows"
LEAST = 9  # models for each class: one of them is a target


class PropertySettings(Settings):
    """The settings of an audit of properties.

    The attacker asks what share of a model's training rows has a property, cut into ranges. It trains shadow models on
    rows with known shares, and a meta-model that reads the share from a model.
    """

    property_text: Annotated[
        str,
        Option(
            help="The property whose share is to be found, such as \"sex == 'Female'\".",
            group=MAIN,
            flag="--property",
            one="property",
        ),
    ] = ""
    classes: Annotated[
        tuple[Annotated[int, Field(ge=2, le=MOST)], ...],
        EachOnce,
        Option(help="Into how many ranges the share is cut; several, separated by commas.", group=MAIN),
    ] = (4,)
    losses: Annotated[
        tuple[str, ...],
        EachOnce,
        Option(
            help="Losses of the meta-model (see `seepage losses list`), separated by commas.",
            group=MAIN,
            flag="--loss",
            one="loss",
            part="loss",
        ),
    ] = ("sor",)
    observed: Annotated[
        Literal["weights", "update", "gradient"],
        Option(
            help="What the attacker sees: the weights of a model, or the update or gradient of a client.", group=MAIN
        ),
    ] = "weights"
    defenses: Defenses = ("none",)
    models: Annotated[
        int,
        Field(ge=LEAST, le=MOST),
        Option(
            help="Shadow and target models for each class of the finest cut.",
            group=MAIN,
            flag="--models-per-class",
            one="models_per_class",
        ),
    ] = 256
    seed: Seed = 0
    readers: Annotated[
        tuple[str, ...],
        Option(
            help="What the meta-model sees of a model (see `seepage readers list`); paths for weights, flat for "
            "updates and gradients if not given.",
            group=MODELS,
            flag="--reader",
            one="reader",
            part="reader",
        ),
    ] = ()
    hierarchies: Annotated[
        tuple[str, ...],
        Option(
            help="Also in two steps, such as 4x5 for 20 classes; several, separated by commas.",
            group=MODELS,
            flag="--hierarchy",
            one="hierarchy",
        ),
    ] = ()
    rounds: Annotated[
        int, Field(ge=1, le=MOST), Option(help="Rounds in which a client's update or gradient is seen.", group=MODELS)
    ] = 1
    epochs: Annotated[int, Field(ge=1, le=MOST), Option(help="For which every model is trained.", group=MODELS)] = 1
    shadow_epochs: Annotated[
        int | None,
        Field(ge=1, le=MOST),
        Option(help="For which shadow models are trained, if the attacker does not know the owner's.", group=MODELS),
    ] = None
    least_accuracy: Annotated[
        float,
        Field(ge=0, le=1),
        Option(
            help="Models below this accuracy are not used (0.9 in the property-inference thesis); 0 uses all, and "
            "those below 0.9 are named in a warning.",
            group=MODELS,
        ),
    ] = 0.0
    rows: Annotated[
        int | None,
        Field(ge=1, le=MOST_ROWS),
        Option(
            help="Rows each model is trained on; a fifth of the pool if not given.",
            group=ROWS,
            flag="--rows-per-model",
            one="rows_per_model",
        ),
    ] = None
    numbers: Annotated[
        Literal["standard", "minmax", "none"],
        Option(help="How models see numbers: standard, minmax, or none (as they are, as in the thesis).", group=ROWS),
    ] = "standard"
    pools: Annotated[
        Literal["shared", "disjoint"],
        Option(
            help="disjoint: targets train on other rows than shadows; shared: on rows of the same pool.", group=ROWS
        ),
    ] = "disjoint"
    shadow_pool: Annotated[
        float,
        Field(gt=0, lt=0.8),
        Option(help="Disjoint pools: share of all rows that is the attacker's.", group=ROWS),
    ] = 0.3
    shadow_share: Annotated[
        float | None,
        Field(gt=0, lt=1),
        Option(
            help="Disjoint pools: share of the property in the attacker's pool; as it comes if not given.", group=ROWS
        ),
    ] = None

    def belongs(self) -> None:
        """Options that would have no effect, or cannot be, are mistakes."""
        if not self.property_text:
            raise InputError(
                "Which property's share is to be found? Say it with --property, as in --property \"sex == 'Female'\"."
            )
        for text in self.hierarchies:
            made = math.prod(steps_of(text))
            if made not in self.classes:
                allowed = " or ".join(map(str, self.classes))
                raise InputError(f"The hierarchy {text!r} makes {made} classes; it must make {allowed}, as --classes.")
        if self.rounds > 1 and self.observed == "weights":
            raise InputError(
                f"There are {self.rounds} rounds of weights; several can be seen of an update or a gradient only."
            )
        if self.shadow_epochs is not None and self.observed == "gradient":
            raise InputError("The setting 'shadow_epochs' has no effect on gradients, which are sent before training.")
        if self.pools == "shared":
            for name in ("shadow_pool", "shadow_share"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise InputError(f"The setting {name!r} belongs to disjoint pools (--pools disjoint).")
        for defense in self.defenses:
            if defense.partition(":")[0] == "epochs" and self.observed == "gradient":
                raise InputError(f"The defence {defense!r} trains longer, but a gradient is sent before any training.")

    @property
    def read_by(self) -> tuple[str, ...]:
        """The readers: a federation does not shuffle neurons, so there all weights in a row are enough."""
        return self.readers or (("paths",) if self.observed == "weights" else ("flat",))

    @property
    def finest(self) -> int:
        """Ranges that all cuts are made of."""
        return math.lcm(*self.classes)


def steps_of(text: str) -> tuple[int, int]:
    """``4x5``: 4 rough ranges, and then 5 finer ones in each."""
    rough, times, fine = text.partition("x")
    if not (times and rough.isdecimal() and fine.isdecimal() and min(int(rough), int(fine)) >= 2):
        raise InputError(f"The hierarchy {text!r} is not of the form 4x5: two whole numbers, each at least 2.")
    return int(rough), int(fine)
