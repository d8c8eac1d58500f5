"""The study of properties: what share of the training rows has a property, read from models."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, get_args

from seepage.attacks.properties import check_plan, train_shard
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.plans import registry
from seepage.results import PropertyCell
from seepage.results.assembling import assemble
from seepage.results.property import PropertyResult, PropertySummary
from seepage.studies.load import Load
from seepage.studies.property.load import load_of
from seepage.studies.property.making import Side, plan_of, pools_of
from seepage.studies.property.running import (
    ReadChoice,
    ShardChoice,
    cell_of,
    make_models,
    read_choices,
    read_models,
    shard_choices,
)
from seepage.studies.property.settings import PropertySettings
from seepage.studies.strength import with_strength
from seepage.studies.study import Found, Gathered, Probe, Work

FEW = 16  # models that are trained to learn what one costs
READING = 30.0  # seconds that a meta-model takes, about: it depends on when its loss stops falling
_READS = ("classes", "losses", "hierarchies", "readers")


@dataclass(frozen=True)
class Properties:
    """Shadow models teach a meta-model to name the share that has a property; it is tried on target models."""

    name = "property"
    about = "What share of the training rows has a property, read from models."
    settings = PropertySettings
    said = frozenset({"data", "property_text", "observed", "classes", "losses", "readers", "hierarchies", "defenses"})

    def open(self, request: Request, settings: PropertySettings) -> Source:
        return open_source(request)

    def choices(self, settings: PropertySettings) -> list[ShardChoice | ReadChoice]:
        choices: list[ShardChoice | ReadChoice] = []
        for defense in settings.defenses:
            choices += [*shard_choices(settings, defense), *read_choices(settings, defense)]
        return choices

    def needs(self, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> list[ShardChoice]:
        return [] if isinstance(choice, ShardChoice) else shard_choices(settings, choice.defense)

    def matters(self, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> dict[str, Any]:
        facts = settings.model_dump(mode="json", exclude={"defenses", *_READS})
        # Models are those of the finest cut, so cuts that share it share them.
        return facts | {"finest": settings.finest, "coarsest": max(settings.classes)}

    def check(self, source: Source, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> None:
        registry.make("defence", choice.defense, "property")
        if isinstance(choice, ReadChoice):
            registry.make("reader", choice.reader, "property")
            return
        pools = pools_of(source, settings)
        plan = plan_of(settings, choice.defense, choice.side, pools.held(settings))
        check_plan(plan, *pools.of(choice.side), pools.evaluation, pools.course)

    def run(self, work: Work) -> Found:
        return make_models(work) if isinstance(work.choice, ShardChoice) else read_models(work)

    def load(self, source: Source, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> Load:
        return load_of(source, settings, choice)

    def probes(self, source: Source, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> list[Probe]:
        if isinstance(choice, ReadChoice):
            return [Probe(kind=("reads", choice.reader, choice.classes), trains=False, times=1)]
        models = len(plan_of(settings, choice.defense, choice.side).numbers(choice.number))
        return [Probe(kind=("models", choice.defense, settings.rounds), trains=True, times=models)]

    def try_one(
        self, source: Source, settings: PropertySettings, choice: ShardChoice | ReadChoice, probe: Probe
    ) -> float:
        if isinstance(choice, ReadChoice):
            return READING
        few = settings.model_copy(update={"models": max(9, FEW)})
        pools = pools_of(source, few)
        plan = plan_of(few, choice.defense, "targets", pools.held(few))
        begin = time.process_time()
        train_shard(plan, 0, *pools.of("targets"), pools.evaluation, pools.course)
        return (time.process_time() - begin) / len(plan.numbers(0))

    def places(self, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> list[tuple[object, ...]]:
        if isinstance(choice, ShardChoice):  # models may be read by several cells
            return []
        return [(settings.property_text, settings.observed, *astuple(choice))]

    def count(self, settings: PropertySettings) -> int:
        shards = sum(plan_of(settings, settings.defenses[0], side).shards for side in get_args(Side))
        ways = math.prod(map(len, (settings.classes, settings.losses, settings.read_by)))
        return len(settings.defenses) * (shards + ways * (1 + len(settings.hierarchies)))

    def cells(self, settings: PropertySettings, choice: ShardChoice | ReadChoice) -> int:
        return int(isinstance(choice, ReadChoice))

    def expected(
        self, source: Source, settings: PropertySettings, choice: ShardChoice | ReadChoice, variant: str
    ) -> list[tuple[PropertyCell, str]]:
        if isinstance(choice, ShardChoice):  # models are made, and read by other choices
            return []
        return [(cell_of(source.name, settings, choice, variant), "")]

    def not_tested(self, every: Sequence[PropertySettings]) -> list[str]:
        sentences = [
            "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
            "Other properties than the one that was asked about, and several at once.",
            "Single rows: this study is about what all rows of an owner have in common.",
        ]
        if all(settings.pools == "shared" for settings in every):
            sentences.append("An attacker whose rows are none of the owners' (--pools disjoint), which is weaker.")
        if all(settings.pools == "disjoint" for settings in every):
            sentences.append("An attacker who holds some of the owners' rows (--pools shared), which is stronger.")
        return sentences

    def summarise(self, gathered: Gathered) -> PropertySummary:
        summary = assemble(PropertySummary, gathered.head, *gathered.told)
        settings = [part.settings for part in gathered.parts for _ in part.trials]
        cells = [_with_strength(cell, each) for cell, each in zip(summary.cells, settings, strict=True)]
        return summary.model_copy(update={"cells": tuple(cells)})


def _with_strength(cell: PropertyResult, settings: PropertySettings) -> PropertyResult:
    """A cell that says which reader a gate asks for; few shadow models are a weaker attack, too."""
    usual = settings.model_copy(update={"readers": ()}).read_by
    told = with_strength(cell, (usual,), "property", kind="reader")
    least = type(settings).model_fields["models"].default
    if settings.models >= least:
        return told
    fewer = f"models-per-class={settings.models}, by default {least}"
    return told.model_copy(update={"weaker": "; ".join(text for text in (told.weaker, fewer) if text)})


STUDY = Properties()
