"""The study of a cheating server: weights of its own making, what clients answer, and what they could notice."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from seepage._core import InputError
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.plans import registry
from seepage.results import ServersCell
from seepage.results.assembling import assemble
from seepage.results.servers import STRONGEST, ServersSummary
from seepage.studies.load import Load
from seepage.studies.parts import check_model
from seepage.studies.servers.load import load_of
from seepage.studies.servers.running import ServersChoice, attacks_of, cells_of, run_choice
from seepage.studies.servers.settings import ServersSettings
from seepage.studies.strength import with_strength
from seepage.studies.study import Found, Gathered, Probe, Work
from seepage.studies.trying import tried

TRAINED = 0.7  # of the rows, at the least


@dataclass(frozen=True)
class ServersStudy:
    """A server sends weights that no training made, and reads what clients send back."""

    name = "servers"
    about = "What a server that sends weights of its own making reads of its clients' rows."
    settings = ServersSettings
    said = frozenset({"data", "protocols", "models", "batch_sizes", "rounds", "attacks"})

    def open(self, request: Request, settings: ServersSettings) -> Source:
        return open_source(request)

    def choices(self, settings: ServersSettings) -> list[ServersChoice]:
        every = itertools.product(settings.protocols, settings.models, settings.batch_sizes, settings.rounds)
        choices = [ServersChoice(*each) for each in every]
        return [choice for choice in choices if attacks_of(settings, choice)]

    def needs(self, settings: ServersSettings, choice: ServersChoice) -> list[ServersChoice]:
        return []

    def matters(self, settings: ServersSettings, choice: ServersChoice) -> dict[str, object]:
        # Which rounds there are decides where attacks of one round are run.
        kept = settings.model_dump(mode="json", exclude={"protocols", "models", "batch_sizes", "rounds"})
        return kept | {"one_round": choice.rounds == min(settings.rounds)}

    def check(self, source: Source, settings: ServersSettings, choice: ServersChoice) -> None:
        check_model(source, settings, choice.model, study="servers")
        for name in settings.attacks:
            attack = registry.make("attack", name, "servers", settings.attack_options)
            if not hasattr(attack, "prepare") or not hasattr(attack, "read"):
                raise InputError(f"The attack {name!r} makes no weights (prepare), or does not read answers (read).")
        if choice.batch_size > (most := int(TRAINED * len(source.table))):
            raise InputError(
                f"A client with {choice.batch_size:,} rows does not fit a table of {len(source.table):,}: at most "
                f"{most:,} rows are handed to clients; use a smaller --batch-size."
            )

    def run(self, work: Work) -> Found:
        return run_choice(work)

    def load(self, source: Source, settings: ServersSettings, choice: ServersChoice) -> Load:
        return load_of(source, settings, choice)

    def probes(self, source: Source, settings: ServersSettings, choice: ServersChoice) -> list[Probe]:
        return [
            Probe(kind=(*astuple(choice), attack), trains=False, times=settings.trials)
            for attack in attacks_of(settings, choice)
        ]

    def try_one(self, source: Source, settings: ServersSettings, choice: ServersChoice, probe: Probe) -> float:
        one = settings.model_copy(update={"attacks": (probe.kind[-1],), "trials": 1})
        begin = time.process_time()
        tried(self, source, one, choice)
        return time.process_time() - begin

    def places(self, settings: ServersSettings, choice: ServersChoice) -> list[tuple[object, ...]]:
        return [(*astuple(choice), attack) for attack in attacks_of(settings, choice)]

    def count(self, settings: ServersSettings) -> int:
        lists = (settings.protocols, settings.models, settings.batch_sizes, settings.rounds, settings.attacks)
        return math.prod(map(len, lists))

    def cells(self, settings: ServersSettings, choice: ServersChoice) -> int:
        return len(attacks_of(settings, choice))

    def expected(
        self, source: Source, settings: ServersSettings, choice: ServersChoice, variant: str
    ) -> list[tuple[ServersCell, str]]:
        return list(cells_of(source.name, settings, choice, variant).values())

    def not_tested(self, every: Sequence[ServersSettings]) -> list[str]:
        sentences = [
            "A server that follows the protocol: `seepage audit` tests it.",
            "Clients that check weights and refuse to train; what their checks would say stands beside each attack.",
            "Secure aggregation, defences on updates, and servers that work together with clients.",
            "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
        ]
        if all(settings.rounds == (1,) for settings in every):
            sentences.append("Servers that cheat in several rounds (--rounds 1,5).")
        return sentences

    def summarise(self, gathered: Gathered) -> ServersSummary:
        summary = assemble(ServersSummary, gathered.head, *gathered.told)
        settings = [part.settings for part in gathered.parts for _ in part.trials]
        cells = []
        for cell, each in zip(summary.cells, settings, strict=True):
            attack = registry.make("attack", cell.attack, "servers", each.attack_options)
            strong = with_strength(cell, STRONGEST, "servers", each.attack_options)
            cells.append(strong.model_copy(update={"notices": tuple(getattr(attack, "notices", ()))}))
        return summary.model_copy(update={"cells": tuple(cells)})


STUDY = ServersStudy()
