"""Settings that several studies have, each declared once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seepage._core.option import MAIN, RUNNING, Option
from seepage.plans.options import MOST, EachOnce

LEARNING, ATTACKS = "Advanced: learning", "Advanced: the attack"
MOST_WATCHED = 100  # rounds that are joined; every one of them is kept for every client

Models = Annotated[
    tuple[str, ...],
    EachOnce,
    Option(
        help="Models (see `seepage models list`), such as mlp or mlp:width=64, separated by commas.",
        group=MAIN,
        flag="--model",
        one="model",
        part="model",
    ),
]
Defenses = Annotated[
    tuple[str, ...],
    EachOnce,
    Option(
        help="Defences (see `seepage defenses list`), such as dp_sgd:noise=1, separated by commas.",
        group=MAIN,
        flag="--defense",
        one="defense",
        part="defence",
    ),
]
BatchSizes = Annotated[
    tuple[Annotated[int, Field(ge=1, le=MOST)], ...],
    EachOnce,
    Option(help="Rows of a batch; several, separated by commas.", group=MAIN, flag="--batch-size", one="batch_size"),
]
Attacks = Annotated[
    tuple[str, ...],
    EachOnce,
    Option(
        help="Attacks (see `seepage attacks list`), with options after colons, separated by commas.",
        group=MAIN,
        one="attack",
        part="attack",
    ),
]
Seed = Annotated[int, Field(gt=-(2**63), lt=2**63), Option(help="All randomness comes from it.", group=RUNNING)]
Reveal = Annotated[
    bool, Option(help="Show true and reconstructed rows in the report. They are private.", group=RUNNING)
]
AttackOptions = Annotated[
    dict[str, str],
    Option(
        help="An option of all attacks (see `seepage attacks list`). More than once.",
        group=ATTACKS,
        flag="--attack-option",
    ),
]
ModelOptions = Annotated[
    dict[str, str],
    Option(help="An option of all models, such as width=64. More than once.", group=LEARNING, flag="--model-option"),
]
PositiveWeight = Annotated[
    float, Field(gt=0, le=MOST), Option(help="Weight of the positive class in the loss.", group=LEARNING)
]
Numbers = Annotated[
    Literal["standard", "minmax", "none"],
    Option(help="How numbers are scaled: standard, minmax or none.", group=LEARNING),
]
