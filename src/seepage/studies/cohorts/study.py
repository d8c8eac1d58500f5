"""The study of cohorts: what a server reads that is given sums over cohorts of clients only."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from seepage._core import InputError, Streams
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.plans import registry
from seepage.results import CohortsCell
from seepage.results.assembling import assemble
from seepage.results.cohorts import STRONGEST, CohortsResult, CohortsSummary
from seepage.studies.cohorts.load import load_of
from seepage.studies.cohorts.making import check_rows, federated
from seepage.studies.cohorts.running import CohortsChoice, attacked, attacks_on, cells_of, run_choice
from seepage.studies.cohorts.settings import CohortsSettings
from seepage.studies.load import Load
from seepage.studies.parts import check_model
from seepage.studies.strength import with_strength
from seepage.studies.study import Found, Gathered, Probe, Work


@dataclass(frozen=True)
class Cohorts:
    """Clients' updates are added up over cohorts, round after round, and attacks read the sums."""

    name = "cohorts"
    about = "What a server behind secure aggregation reads in sums over cohorts of clients."
    settings = CohortsSettings
    said = frozenset({"data", "protocol", "models", "clients", "rows_each", "cohort_sizes", "rounds", "attacks"})

    def open(self, request: Request, settings: CohortsSettings) -> Source:
        return open_source(request)

    def choices(self, settings: CohortsSettings) -> list[CohortsChoice]:
        every = itertools.product(range(settings.trials), settings.models, settings.cohort_sizes, settings.rounds)
        found = [CohortsChoice(model, size, rounds, repeat) for repeat, model, size, rounds in every]
        kept = [choice for choice in found if attacks_on(settings, choice)]
        if not kept:
            raise InputError(
                f"None of the attacks {', '.join(settings.attacks)} has anything to read here: whose rows are, is told "
                "by several rounds (--rounds) of changing cohorts, and rounds are stacked where the cohort stays the "
                "same (--cohorts same)."
            )
        return kept

    def needs(self, settings: CohortsSettings, choice: CohortsChoice) -> list[CohortsChoice]:
        return []

    def matters(self, settings: CohortsSettings, choice: CohortsChoice) -> dict[str, object]:
        return settings.model_dump(mode="json", exclude={"models", "cohort_sizes", "rounds", "trials"})

    def check(self, source: Source, settings: CohortsSettings, choice: CohortsChoice) -> None:
        check_model(source, settings, choice.model, study="cohorts")
        check_rows(source, settings)
        for name in settings.attacks:
            attack = registry.make("attack", name, "cohorts", settings.attack_options)
            if getattr(attack, "reads", None) not in STRONGEST or not hasattr(attack, "rerun"):
                raise InputError(
                    f"The attack {name!r} does not say what it reads ({', '.join(STRONGEST)}), or whether it needs a "
                    "round that was run again (rerun)."
                )

    def run(self, work: Work) -> Found:
        return run_choice(work)

    def load(self, source: Source, settings: CohortsSettings, choice: CohortsChoice) -> Load:
        return load_of(source, settings, choice)

    def probes(self, source: Source, settings: CohortsSettings, choice: CohortsChoice) -> list[Probe]:
        where = (choice.model, choice.cohort_size, choice.rounds)
        return [Probe(kind=(*where, name), trains=False, times=1) for name in attacks_on(settings, choice)]

    def try_one(self, source: Source, settings: CohortsSettings, choice: CohortsChoice, probe: Probe) -> float:
        """Seconds of one attack on one federation."""
        begin = time.process_time()
        streams = Streams(settings.seed).child("repeat", choice.repeat)
        shown = federated(source, settings, choice.model, choice.cohort_size, choice.rounds, streams)
        cell, _ = cells_of(source.name, settings, choice, "")[str(probe.kind[-1])]
        attacked(cell, shown, settings, choice.repeat, streams)
        return time.process_time() - begin

    def places(self, settings: CohortsSettings, choice: CohortsChoice) -> list[tuple[object, ...]]:
        fixed = (settings.protocol, settings.clients, settings.rows_each)
        return [(*fixed, *astuple(choice), attack) for attack in attacks_on(settings, choice)]

    def count(self, settings: CohortsSettings) -> int:
        lists = (settings.models, settings.cohort_sizes, settings.rounds, settings.attacks)
        return settings.trials * math.prod(map(len, lists))

    def cells(self, settings: CohortsSettings, choice: CohortsChoice) -> int:
        return len(attacks_on(settings, choice)) if choice.repeat == 0 else 0  # repeats are trials of one cell

    def expected(
        self, source: Source, settings: CohortsSettings, choice: CohortsChoice, variant: str
    ) -> list[tuple[CohortsCell, str]]:
        return list(cells_of(source.name, settings, choice, variant).values())

    def not_tested(self, every: Sequence[CohortsSettings]) -> list[str]:
        sentences = [
            "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
            "A server that cheats: one that chooses weights so that rows stand out of a sum, sends clients different "
            "models, fills a cohort with clients of its own, or repeats rounds at will.",
            "Clients that work together with the server, or attack each other.",
            "Clients that draw other rows in every round: then a row's absence rules nobody out.",
            "Noise on the sum, and the rounding of a real protocol, which adds up whole numbers.",
        ]
        if all(settings.rounds == (1,) for settings in every):
            sentences.append("Several rounds: over changing cohorts they tell whose rows are (--rounds 1,5).")
        if not any(settings.stays(size) for settings in every for size in settings.cohort_sizes):
            sentences.append(
                "The same cohort in several rounds: laid on top of each other its sums open what one hides "
                "(--cohorts same)."
            )
        return sentences

    def summarise(self, gathered: Gathered) -> CohortsSummary:
        summary = assemble(CohortsSummary, gathered.head, *gathered.told)
        settings = {part.variant: part.settings for part in gathered.parts}
        cells = tuple(with_strength(cell, _ranks(cell, settings[cell.variant]), "cohorts") for cell in summary.cells)
        return summary.model_copy(update={"cells": cells})


def _ranks(cell: CohortsResult, settings: CohortsSettings) -> tuple[tuple[str, ...], ...]:
    """The strongest attacks on a setting: rounds of the same cohort are stronger together than each by itself."""
    ranks = STRONGEST[cell.reads]
    stacked = cell.reads == "rows" and cell.rounds > 1 and settings.stays(cell.cohort_size)
    return (("stacked_sums",), *ranks) if stacked else ranks


STUDY = Cohorts()
