"""The study of vertical gradients: what a server reads of people's rows from gradients of batches (CAFE)."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._core import InputError
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.plans import registry
from seepage.results import VerticalCell
from seepage.results.assembling import assemble
from seepage.results.vertical import VerticalSummary
from seepage.studies.load import Load
from seepage.studies.parts import check_model
from seepage.studies.strength import with_strength
from seepage.studies.study import Found, Gathered, Probe, Work
from seepage.studies.trying import tried
from seepage.studies.vertical.load import load_of
from seepage.studies.vertical.running import cell_of, run_choice
from seepage.studies.vertical.settings import VerticalSettings
from seepage.studies.vertical.workers import VerticalChoice, drawn

# What a gate asks for. Spans read fixed and moving weights; slopes and the closed form what spans leave or cannot be
# mounted on, the one where weights move and the other where they do not; and `exact` needs not know who is in a batch.
MOVING = (("spans",), ("slopes",), ("cafe_closed_form",), ("exact",))
FIXED = (("spans",), ("cafe_closed_form",), ("slopes",), ("exact",))


@dataclass(frozen=True)
class Vertical:
    """Workers hold columns, the server picks the people of batches and gets one gradient for each batch."""

    name = "vertical"
    about = "What a server reads of people's rows from gradients of aligned batches."
    settings = VerticalSettings
    said = frozenset({"data", "models", "defenses", "batch_sizes", "attacks", "people", "batches"})

    def open(self, request: Request, settings: VerticalSettings) -> Source:
        return open_source(request)

    def choices(self, settings: VerticalSettings) -> list[VerticalChoice]:
        combinations = itertools.product(settings.models, settings.defenses, settings.batch_sizes)
        return [VerticalChoice(*combination) for combination in combinations]

    def needs(self, settings: VerticalSettings, choice: VerticalChoice) -> list[VerticalChoice]:
        return []

    def matters(self, settings: VerticalSettings, choice: VerticalChoice) -> dict[str, Any]:
        return settings.model_dump(mode="json", exclude={"models", "batch_sizes"})

    def check(self, source: Source, settings: VerticalSettings, choice: VerticalChoice) -> None:
        drawn(source.table, settings.people, np.random.default_rng(0))
        check_model(source, settings, choice.model, study="vertical")
        registry.make("defence", choice.defense, "vertical")
        for name in settings.attacks:
            registry.make("attack", name, "vertical", settings.attack_options)
        if choice.batch_size >= settings.people:
            raise InputError(
                f"A batch has {choice.batch_size} of {settings.people} people: all batches are the same, so rows "
                "cannot be separated; batches must be smaller than the data."
            )

    def run(self, work: Work) -> Found:
        return run_choice(work)

    def load(self, source: Source, settings: VerticalSettings, choice: VerticalChoice) -> Load:
        return load_of(source, settings, choice)

    def probes(self, source: Source, settings: VerticalSettings, choice: VerticalChoice) -> list[Probe]:
        where = (choice.model, settings.people, choice.batch_size, settings.moving)
        return [Probe(kind=(*where, attack), trains=False, times=settings.trials) for attack in settings.attacks]

    def try_one(self, source: Source, settings: VerticalSettings, choice: VerticalChoice, probe: Probe) -> float:
        one = settings.model_copy(update={"attacks": (probe.kind[-1],), "trials": 1, "reveal": False})
        begin = time.process_time()
        tried(self, source, one, choice)
        return time.process_time() - begin

    def places(self, settings: VerticalSettings, choice: VerticalChoice) -> list[tuple[object, ...]]:
        fixed = (choice.model, choice.defense, choice.batch_size, settings.people, settings.batches_seen)
        return [(*fixed, settings.moving, attack) for attack in settings.attacks]

    def count(self, settings: VerticalSettings) -> int:
        return math.prod(map(len, (settings.models, settings.defenses, settings.batch_sizes, settings.attacks)))

    def cells(self, settings: VerticalSettings, choice: VerticalChoice) -> int:
        return len(settings.attacks)

    def expected(
        self, source: Source, settings: VerticalSettings, choice: VerticalChoice, variant: str
    ) -> list[tuple[VerticalCell, str]]:
        return [(cell_of(source.name, settings, choice, attack, variant), "") for attack in settings.attacks]

    def not_tested(self, every: Sequence[VerticalSettings]) -> list[str]:
        defended = list(dict.fromkeys(spec for settings in every for spec in settings.defended))
        sentences = [
            "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
            f"Other defences than {', '.join(defended)}, and attacks that were made for the defence they meet."
            if defended
            else "Defences: none was in place.",
            "Horizontal learning (FedSGD, FedAvg), other models and other batch sizes than the ones listed.",
            "What workers read of each other, and what a server that does not follow the protocol reads.",
        ]
        if not any(settings.moving for settings in every):
            sentences.append("Learning while it is watched: the weights were fixed.")
        return sentences

    def summarise(self, gathered: Gathered) -> VerticalSummary:
        summary = assemble(VerticalSummary, gathered.head, *gathered.told)
        settings = [part.settings for part in gathered.parts for _ in part.trials]
        cells = [
            with_strength(cell, MOVING if each.moving else FIXED, "vertical", each.attack_options)
            for cell, each in zip(summary.cells, settings, strict=True)
        ]
        return summary.model_copy(update={"cells": tuple(cells)})


STUDY = Vertical()
