"""The study of rows: what a server reads of clients' rows from their updates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.federation.exposure import milestone
from seepage.plans import registry
from seepage.results import RowsCell
from seepage.results.assembling import assemble
from seepage.results.rows import RowsSummary
from seepage.results.tallies import is_tally
from seepage.studies.load import Load
from seepage.studies.parts import check_model
from seepage.studies.rows.cost import attack_cost, first_update, round_seconds
from seepage.studies.rows.explain import explain, ranks_of
from seepage.studies.rows.load import load_of
from seepage.studies.rows.making import check_defense, is_exposure
from seepage.studies.rows.running import RowsChoice, repeats, rounds_of, run_choice
from seepage.studies.rows.settings import RowsSettings
from seepage.studies.strength import with_strength
from seepage.studies.study import Found, Gathered, Probe, Work

EXPLAINED = 12  # variants of which it is counted what can work; more would be a page of its own
AUTOMATIC = ("initialized", "25%", "50%", "75%", "final")  # what `auto` stands for
_NAMES = {"fedsgd": "FedSGD", "fedavg": "FedAvg"}


@dataclass(frozen=True)
class Rows:
    """Federations are trained, and clients' updates attacked at several moments by several attacks."""

    name = "rows"
    about = "What a server reads of clients' rows from their updates."
    settings = RowsSettings
    said = frozenset({"data", "protocol", "models", "defenses", "batch_sizes", "attacks", "attack_points"})

    def open(self, request: Request, settings: RowsSettings) -> Source:
        return open_source(request)

    def choices(self, settings: RowsSettings) -> list[RowsChoice]:
        combinations = itertools.product(settings.models, settings.defenses, settings.batch_sizes)
        return [RowsChoice(*combination) for combination in combinations]

    def needs(self, settings: RowsSettings, choice: RowsChoice) -> list[RowsChoice]:
        return []

    def matters(self, settings: RowsSettings, choice: RowsChoice) -> dict[str, Any]:
        return settings.model_dump(mode="json", exclude={"models", "defenses", "batch_sizes"})

    def check(self, source: Source, settings: RowsSettings, choice: RowsChoice) -> None:
        check_model(source, settings, choice.model, study="rows", batch_statistics=settings.batch_norm != "stored")
        check_defense(source, settings, choice.model, choice.defense)
        for name in settings.attacks:
            registry.make("attack", name, "rows", settings.attack_options)
        rounds_of(source, settings, choice.batch_size)

    def run(self, work: Work) -> Found:
        return run_choice(work)

    def load(self, source: Source, settings: RowsSettings, choice: RowsChoice) -> Load:
        return load_of(source, settings, choice, _points(settings))

    def probes(self, source: Source, settings: RowsSettings, choice: RowsChoice) -> list[Probe]:
        where = (settings.protocol, choice.model, choice.batch_size)
        # All federations are about as long as the first, and splitting the table for thousands of them takes minutes.
        first = settings.model_copy(update={"trials": 1})
        rounds = rounds_of(source, first, choice.batch_size)[0] * repeats(source, settings)
        attacked = settings.trials * _points(settings)
        # Every joined round is read by itself too, at worst.
        joined = {name: sum(many for each, many in settings.tried if each == name) for name in settings.attacks}
        return [
            Probe(kind=(*where, "trains", choice.defense), trains=True, times=rounds),
            *(Probe(kind=(*where, name), trains=False, times=attacked * many) for name, many in joined.items()),
        ]

    def try_one(self, source: Source, settings: RowsSettings, choice: RowsChoice, probe: Probe) -> float:
        if probe.trains:
            return round_seconds(source, settings, choice)
        name = str(probe.kind[-1])
        cost = attack_cost(name, settings, first_update(source, settings, choice))
        attack = registry.make("attack", name, "rows", settings.attack_options)
        return cost.seconds(attack, settings.trials) / settings.trials

    def places(self, settings: RowsSettings, choice: RowsChoice) -> list[tuple[object, ...]]:
        points = [f"{float(point):g}" if is_exposure(point) else point for point in _point_names(settings)]
        fixed = (settings.protocol, choice.model, choice.defense, choice.batch_size)
        return [(*fixed, attack, point, many) for attack, many in settings.tried for point in points]

    def count(self, settings: RowsSettings) -> int:
        lists = (settings.models, settings.defenses, settings.batch_sizes, settings.tried)
        return math.prod(map(len, lists)) * _points(settings)

    def cells(self, settings: RowsSettings, choice: RowsChoice) -> int:
        return len(settings.tried) * _points(settings)

    def expected(
        self, source: Source, settings: RowsSettings, choice: RowsChoice, variant: str
    ) -> list[tuple[RowsCell, str]]:
        points = [milestone(float(name)) if is_exposure(name) else name for name in _point_names(settings)]
        where = {"dataset": source.name, "protocol": settings.protocol, "variant": variant} | asdict(choice)
        every = itertools.product(settings.tried, points)
        return [
            (RowsCell(attack=attack, watched=many, attack_point=point, **where), "") for (attack, many), point in every
        ]

    def not_tested(self, every: Sequence[RowsSettings]) -> list[str]:
        tested = {settings.protocol for settings in every}
        others = [said for name, said in _NAMES.items() if name not in tested] + ["vertical learning"]
        defended = list(dict.fromkeys(spec for settings in every for spec in settings.defended))
        sentences = [
            "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
            _defences_left_out(defended),
            f"Other protocols ({' and '.join(others)}), other models and other batch sizes than the ones listed.",
            *_rounds_left_out(every),
            "A server that cheats (`seepage audit servers`), or clients that attack each other.",
            "Membership and property inference.",
        ]
        if all(settings.labels_known for settings in every):
            sentences.append("An attacker without the labels, which is weaker.")
        return sentences

    def summarise(self, gathered: Gathered) -> RowsSummary:
        counted = [
            explain(part.source, part.settings, part.trials, variant=part.variant, only_attacked=True)
            for part in gathered.parts
        ]
        said = [entry for entries in counted for entry in entries] if len(counted) <= EXPLAINED else []
        summary = assemble(RowsSummary, {**gathered.head, "applicability": said}, *gathered.told)
        each = [
            (part, entries)
            for part, entries in zip(gathered.parts, counted, strict=True)
            for trials in part.trials
            if not is_tally(trials)
        ]
        cells = []
        for cell, (part, entries) in zip(summary.cells, each, strict=True):
            ranks = {(entry.model, entry.defense, entry.batch_size): ranks_of(entry) for entry in entries}
            asked = ranks[cell.model, cell.defense, cell.batch_size]
            cells.append(with_strength(cell, asked, "rows", part.settings.attack_options))
        return summary.model_copy(update={"cells": tuple(cells)})


def _point_names(settings: RowsSettings) -> tuple[str, ...]:
    return AUTOMATIC if settings.attack_points == ("auto",) else settings.attack_points


def _points(settings: RowsSettings) -> int:
    return len(_point_names(settings))


def _rounds_left_out(every: Sequence[RowsSettings]) -> list[str]:
    """What joining rounds would add, where it was not tried."""
    if all(settings.rounds == (1,) for settings in every):
        return ["Several rounds of a client joined: what one update hides may be open after two (--rounds 1,2,5)."]
    return []


def _defences_left_out(defended: Sequence[str]) -> str:
    if not defended:
        return "Defences: none was in place (no noise, no clipping, no secure aggregation)."
    return (
        f"Other defences than {', '.join(defended)}, secure aggregation, and attacks that were made for the "
        "defence they meet: one that models it can read more."
    )


STUDY = Rows()
