"""The study of parties: what a host and guests read of each other in the messages of vertical training."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from seepage._core import InputError
from seepage.data.request import Request
from seepage.federation.vertical import make_design
from seepage.federation.vertical.designs import check_latent
from seepage.plans import registry
from seepage.results import PartiesCell
from seepage.results.assembling import assemble
from seepage.results.parties import STRONGEST, PartiesSummary
from seepage.studies.load import Load
from seepage.studies.parties.load import load_of
from seepage.studies.parties.running import PartiesChoice, cells_of, run_choice
from seepage.studies.parties.settings import PartiesSettings
from seepage.studies.strength import with_strength
from seepage.studies.study import Found, Gathered, Probe, Work
from seepage.studies.training.running import make_model
from seepage.studies.training.tables import PartyTables, open_tables


@dataclass(frozen=True)
class PartiesStudy:
    """Several parties train one model, every message is recorded, and each side reads what it was sent."""

    name = "parties"
    about = "What parties with different columns of the same people read of each other in their messages."
    settings = PartiesSettings
    said = frozenset({"data", "tables", "designs", "guests", "defenses", "attacks"})

    def open(self, request: Request, settings: PartiesSettings) -> PartyTables:
        return open_tables(request, settings.training)

    def choices(self, settings: PartiesSettings) -> list[PartiesChoice]:
        return [
            PartiesChoice(design, defense, repeat)
            for repeat in range(settings.runs)
            for design in settings.designs
            for defense in settings.defenses
        ]

    def needs(self, settings: PartiesSettings, choice: PartiesChoice) -> list[PartiesChoice]:
        return []

    def matters(self, settings: PartiesSettings, choice: PartiesChoice) -> dict[str, object]:
        return settings.model_dump(mode="json", exclude={"designs", "defenses", "runs"})

    def check(self, source: PartyTables, settings: PartiesSettings, choice: PartiesChoice) -> None:
        registry.find("design", choice.design, "parties")
        make_design(choice.design)
        check_latent(settings.latent, settings.parties)
        registry.make("defence", choice.defense, "parties")
        for name in settings.attacks:
            attack = registry.make("attack", name, "parties")
            if getattr(attack, "reads", None) not in STRONGEST or not hasattr(attack, "alone"):
                raise InputError(
                    f"The attack {name!r} does not say what it reads (columns or labels), or what it has without a "
                    "message (alone)."
                )
        if not settings.finetuning:
            raise InputError("Labels are read in the gradients of fine-tuning; it needs at least one epoch.")

    def run(self, work: Work) -> Found:
        return run_choice(work)

    def load(self, source: PartyTables, settings: PartiesSettings, choice: PartiesChoice) -> Load:
        return load_of(source, settings, choice)

    def probes(self, source: PartyTables, settings: PartiesSettings, choice: PartiesChoice) -> list[Probe]:
        epochs = settings.pretraining + settings.finetuning
        return [Probe(kind=(choice.design, settings.parties), trains=True, times=epochs)]

    def try_one(self, source: PartyTables, settings: PartiesSettings, choice: PartiesChoice, probe: Probe) -> float:
        """Seconds of one epoch."""
        one = settings.training.model_copy(update={"pretraining": 1, "finetuning": 1})
        parties, model = source.drawn(one, choice.repeat), make_model(one, choice.training)
        begin = time.process_time()
        model.fit(parties.frames, parties.labels, train_rows=parties.train, validation_rows=parties.validation)
        return (time.process_time() - begin) / 2

    def places(self, settings: PartiesSettings, choice: PartiesChoice) -> list[tuple[object, ...]]:
        return [(settings.parties, *astuple(choice), attack) for attack in settings.attacks]

    def count(self, settings: PartiesSettings) -> int:
        return settings.runs * math.prod(map(len, (settings.designs, settings.defenses, settings.attacks)))

    def cells(self, settings: PartiesSettings, choice: PartiesChoice) -> int:
        return len(settings.attacks) if choice.repeat == 0 else 0  # repeats are trials of one cell

    def expected(
        self, source: PartyTables, settings: PartiesSettings, choice: PartiesChoice, variant: str
    ) -> list[tuple[PartiesCell, str]]:
        return list(cells_of(source.name, settings, choice, variant).values())

    def not_tested(self, every: Sequence[PartiesSettings]) -> list[str]:
        sentences = [
            "Parties that do not follow the protocol, and parties that work together.",
            "What guests read of each other's columns, and what masks, decoder chunks and their gradients tell.",
            "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
            "A network between the parties: all of them ran in one process.",
        ]
        if not any(settings.handed_over for settings in every):
            sentences.append(
                "A host that is handed the guests' weights (--attacks equality_solving,generative_regression)."
            )
        return sentences

    def summarise(self, gathered: Gathered) -> PartiesSummary:
        summary = assemble(PartiesSummary, gathered.head, *gathered.told)
        cells = tuple(with_strength(cell, STRONGEST[cell.reads], "parties") for cell in summary.cells)
        return summary.model_copy(update={"cells": cells})


STUDY = PartiesStudy()
