"""The cost of an audit of properties, counted from its settings."""

from __future__ import annotations

import itertools

from seepage.data import Encoder
from seepage.data.source import Source
from seepage.models.recipe import Recipe
from seepage.studies.load import CALL, FLOPS, Load
from seepage.studies.property.making import plan_of
from seepage.studies.property.running import ReadChoice, ShardChoice
from seepage.studies.property.settings import PropertySettings

TOGETHER = 128  # models that are trained at once
OPERATIONS = 120  # of a step of all of them
TRIED = 16 * 9  # models that are trained to learn what one costs, at most
READ = 60  # passes of a meta-model over all models


def load_of(source: Source, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> Load:
    """What one choice costs: a shard of models, or a meta-model that reads all of them."""
    size = _parameters(source)
    if isinstance(choice, ReadChoice):
        models = sum(plan_of(settings, choice.defense, side).models for side in ("shadows", "targets"))
        seconds = 10 + READ * models * settings.rounds * 60 * size / FLOPS
        return Load(seconds=seconds, memory=24.0 * models * settings.rounds * size, piece=0.0)
    plan = plan_of(settings, choice.defense, choice.side)
    rows = settings.rows or round(0.2 * len(source.table))
    models, recipe = len(plan.numbers(choice.number)), plan.recipe
    one = settings.rounds * recipe.epochs * rows * 6 * size / FLOPS
    calls = settings.rounds * recipe.epochs * -(-rows // recipe.batch_size) * OPERATIONS * CALL
    seconds = models * one + -(-models // TOGETHER) * calls
    inputs = Encoder(schema=source.table.schema).layout.width
    course = settings.rounds * (one + calls) if settings.observed != "weights" else 0.0
    return Load(
        seconds=seconds,
        memory=12.0 * len(source.table) * inputs + models * (8.0 * rows + 24.0 * settings.rounds * size),
        piece=min(models, TRIED) * one + calls + course,
    )


def _parameters(source: Source) -> int:
    """Of a model that is made."""
    inputs, classes = Encoder(schema=source.table.schema).layout.width, len(source.table.schema.target.classes)
    return sum(
        (entering + 1) * leaving for entering, leaving in itertools.pairwise((inputs, *Recipe().hidden, classes))
    )
