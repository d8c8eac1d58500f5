"""The study of vertical training: TabVFL and its baselines, over columns at several parties."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from seepage.data.request import Request
from seepage.federation.vertical import fit_together, make_design
from seepage.federation.vertical.designs import check_latent
from seepage.results import TrainingCell
from seepage.results.assembling import assemble
from seepage.results.training import TrainingSummary
from seepage.studies.load import Load
from seepage.studies.study import Found, Gathered, Probe, Work
from seepage.studies.training.load import load_of
from seepage.studies.training.running import (
    AnyChoice,
    cell_of,
    make_model,
    run_choice,
    training_choices,
    trainings_of,
)
from seepage.studies.training.settings import ALIGNS, TrainingSettings
from seepage.studies.training.tables import PartyTables, open_tables

TRIED = 8  # trainings that are tried at once; more cost in proportion


@dataclass(frozen=True)
class VerticalTraining:
    """A model over columns at several parties is trained several times, and its latent judged."""

    name = "training"
    about = "What a model over several parties' columns is worth, and what they read of each other."
    settings = TrainingSettings
    said = frozenset({"data", "tables", "designs", "guests", "phases", "failure_probabilities", "failure_methods"})

    def open(self, request: Request, settings: TrainingSettings) -> PartyTables:
        return open_tables(request, settings)

    def choices(self, settings: TrainingSettings) -> Sequence[AnyChoice]:
        return training_choices(settings)

    def needs(self, settings: TrainingSettings, choice: AnyChoice) -> list[AnyChoice]:
        return []

    def matters(self, settings: TrainingSettings, choice: AnyChoice) -> dict[str, Any]:
        absences = {"failure_probabilities", "failure_methods", "runs"}
        # A choice says which of the lists it is of; one of all runs has the others whole.
        lists = {"designs", "phases"} | (set() if settings.together else {"together", *absences})
        # How rows are aligned counts where it was said; ids of runs from before it could be said stay as they are.
        found = settings.model_dump(mode="json", exclude=lists | {"keys", "alignment", *ALIGNS})
        said = settings.model_dump(mode="json", include={*ALIGNS} - {"alignment"}, exclude_defaults=True)
        key = settings.keys[0] if len(settings.keys) == 1 else list(settings.keys) or None
        return found | said | {"key": key}

    def check(self, source: PartyTables, settings: TrainingSettings, choice: AnyChoice) -> None:
        make_design(choice.design)
        check_latent(settings.latent, settings.parties)

    def run(self, work: Work) -> Found:
        return run_choice(work)

    def load(self, source: PartyTables, settings: TrainingSettings, choice: AnyChoice) -> Load:
        return load_of(source, settings, choice)

    def probes(self, source: PartyTables, settings: TrainingSettings, choice: AnyChoice) -> list[Probe]:
        epochs = (settings.pretraining if choice.phases != "no pretraining" else 0) + (
            settings.finetuning if choice.phases != "no fine-tuning" else 0
        )
        return [Probe(kind=(choice.design, settings.parties, settings.together), trains=True, times=epochs)]

    def try_one(self, source: PartyTables, settings: TrainingSettings, choice: AnyChoice, probe: Probe) -> float:
        """Seconds of one epoch: patience may end a training earlier, so the whole is an upper bound."""
        one = settings.model_copy(update={"pretraining": 1, "finetuning": 1})
        trainings = trainings_of(one, choice)
        tried = trainings[:TRIED]
        rows = [source.drawn(one, each.repeat) for each in tried]
        given = [(each.frames, each.labels, each.train, each.validation) for each in rows]
        models = [make_model(one, each) for each in tried]
        begin = time.process_time()
        if settings.together:
            fit_together(models, given)
        else:
            models[0].fit(*given[0][:2], train_rows=rows[0].train, validation_rows=rows[0].validation)
        return (time.process_time() - begin) / 2 * len(trainings) / len(tried)

    def places(self, settings: TrainingSettings, choice: AnyChoice) -> list[tuple[object, ...]]:
        return [(settings.parties, *astuple(each)) for each in trainings_of(settings, choice)]

    def count(self, settings: TrainingSettings) -> int:
        absences = len(settings.failure_probabilities) * len(settings.failure_methods)
        return len(settings.designs) * len(settings.phases) * absences * settings.runs

    def cells(self, settings: TrainingSettings, choice: AnyChoice) -> int:
        return sum(each.repeat == 0 for each in trainings_of(settings, choice))  # repeats are trials of one cell

    def expected(
        self, source: PartyTables, settings: TrainingSettings, choice: AnyChoice, variant: str
    ) -> list[tuple[TrainingCell, str]]:
        return [cell_of(source.name, settings, each, variant) for each in trainings_of(settings, choice)]

    def not_tested(self, every: Sequence[TrainingSettings]) -> list[str]:
        sentences = [
            "Parties that do not follow the protocol, and parties that work together.",
            "A network between the parties: all of them ran in one process.",
        ]
        if not any(settings.privacy for settings in every):
            sentences.append("What the parties read of each other (--privacy measures it).")
        return sentences

    def summarise(self, gathered: Gathered) -> TrainingSummary:
        return assemble(TrainingSummary, gathered.head, *gathered.told)


STUDY = VerticalTraining()
