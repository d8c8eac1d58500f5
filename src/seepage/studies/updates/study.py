"""The study of captured updates: what can be read from what a real federation sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seepage._core import InputError
from seepage.attacks.applicability import findings, what_stops
from seepage.data.request import Request
from seepage.plans import registry
from seepage.results import UpdatesCell
from seepage.results.assembling import assemble
from seepage.results.captured_totals import is_totals
from seepage.results.rows import Applicability, PartVerdict
from seepage.results.updates import UpdatesResult, UpdatesSummary
from seepage.studies.load import Load, shape_of
from seepage.studies.parts import check_model
from seepage.studies.rows.explain import ranks_of
from seepage.studies.rows.load import attack_load
from seepage.studies.strength import with_strength
from seepage.studies.study import Found, Gathered, Probe, Work
from seepage.studies.updates.counting import setup_of, steps_of
from seepage.studies.updates.joining import check_join
from seepage.studies.updates.observing import fitted_tensors, parts_of
from seepage.studies.updates.running import UpdatesChoice, cells_of, run_choice
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.updates.source import CapturedUpdates, Case, open_capture


@dataclass(frozen=True)
class Updates:
    """Updates are read from a capture and attacked; nothing is trained."""

    name = "updates"
    about = "What a server reads of clients' rows from updates that a real federation sent."
    settings = UpdatesSettings
    said = frozenset({"data", "capture", "model", "attacks"})

    def open(self, request: Request, settings: UpdatesSettings) -> CapturedUpdates:
        return open_capture(request, settings)

    def choices(self, settings: UpdatesSettings) -> list[UpdatesChoice]:
        # Rounds that are named are tasks of their own: what is finished of a capture that grows is not attacked again.
        if settings.each_round and settings.rounds:
            return [UpdatesChoice(settings.model, number) for number in sorted(settings.rounds)]
        return [UpdatesChoice(settings.model)]

    def needs(self, settings: UpdatesSettings, choice: UpdatesChoice) -> list[UpdatesChoice]:
        return []

    def matters(self, settings: UpdatesSettings, choice: UpdatesChoice) -> dict[str, Any]:
        return settings.model_dump(mode="json", exclude={"rounds"} if choice.round is not None else None)

    def check(self, source: CapturedUpdates, settings: UpdatesSettings, choice: UpdatesChoice) -> None:
        check_model(source, settings, choice.model, study="updates")
        for name in settings.attacks:
            registry.make("attack", name, "updates", settings.attack_options)
        if settings.labels_known and not source.table.schema.target.classes:
            raise InputError("How the clients scale a number as target is not known, so --labels-known needs classes.")
        check_join(source, settings)
        _, learner = parts_of(source, settings)
        for case in source.cases_of(choice.round):
            for entry in case.entries:
                fitted_tensors(entry, learner, settings.model)

    def run(self, work: Work) -> Found:
        return run_choice(work)

    def load(self, source: CapturedUpdates, settings: UpdatesSettings, choice: UpdatesChoice) -> Load:
        shape = shape_of(source, settings, choice.model, "updates")
        attacks = [
            (registry.make("attack", name, "updates", settings.attack_options), many) for name, many in settings.tried
        ]
        more = 0 if settings.truth else settings.simulations
        loads = [
            attack_load(attack, shape, case.batch_size, steps_of(case), many * (len(case.entries) + more))
            for case in source.cases_of(choice.round)
            for attack, many in attacks
        ]
        return Load(
            seconds=sum(each.seconds for each in loads),
            memory=max(each.memory for each in loads),
            piece=max(each.piece for each in loads),
        )

    def probes(self, source: CapturedUpdates, settings: UpdatesSettings, choice: UpdatesChoice) -> list[Probe]:
        return []

    def try_one(self, source: CapturedUpdates, settings: UpdatesSettings, choice: UpdatesChoice, probe: Probe) -> float:
        raise AssertionError("nothing is trained, so nothing is tried")

    def places(self, settings: UpdatesSettings, choice: UpdatesChoice) -> list[tuple[object, ...]]:
        return [(settings.capture, choice.model, *tried, choice.round or 0) for tried in settings.tried]

    def count(self, settings: UpdatesSettings) -> int:
        return len(settings.tried) * (max(len(settings.rounds), 1) if settings.each_round else 1)

    def cells(self, settings: UpdatesSettings, choice: UpdatesChoice) -> int:
        return 2 * len(settings.tried)

    def expected(
        self, source: CapturedUpdates, settings: UpdatesSettings, choice: UpdatesChoice, variant: str
    ) -> list[tuple[UpdatesCell, str]]:
        return [
            (cell, "")
            for case in source.cases_of(choice.round)
            for attack, many in settings.tried
            for cell in cells_of(source, settings, case, attack, many, variant)
        ]

    def not_tested(self, every: Sequence[UpdatesSettings]) -> list[str]:
        sentences = [
            "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
            _not_joined(every),
            "Other clients, other rounds and other settings than the captured ones.",
            "A malicious server, or clients that attack each other.",
            "Membership and property inference.",
        ]
        if any(settings.truth is None for settings in every):
            sentences.insert(
                0,
                "Whether what was read is right: nobody gave the rows behind the updates. What is certified is proven; "
                "all else is an estimate from simulations of the same shape.",
            )
        return sentences

    def summarise(self, gathered: Gathered) -> UpdatesSummary:
        entries = {
            _key(entry): entry
            for part in gathered.parts
            for case in _unlike(part.source.cases)
            for entry in [_applicability(part.source, part.settings, case, part.variant)]
        }
        head = {**gathered.head, "applicability": list(entries.values())}
        summary = assemble(UpdatesSummary, head, *gathered.told)
        settings = [part.settings for part in gathered.parts for each in part.trials if not is_totals(each)]
        cells = [
            with_strength(cell, ranks_of(entries[_key(cell)]), "updates", each.attack_options)
            for cell, each in zip(summary.cells, settings, strict=True)
        ]
        return summary.model_copy(update={"cells": tuple(cells)})


def _not_joined(every: Sequence[UpdatesSettings]) -> str:
    most = max(max(settings.join) for settings in every)
    if most == 1:
        return "Rounds of one client together (--join): every round was attacked by itself, and several give away more."
    return f"More than {most} rounds of one client together."


def _unlike(cases: Sequence[Case]) -> list[Case]:
    """Cases that differ in what attacks can read: a capture of many rounds has few of them."""
    return list({(case.protocol, case.batch_size): case for case in cases}.values())


def _key(entry: Applicability | UpdatesResult) -> tuple[object, ...]:
    """What two updates that the same attacks can read have in common."""
    return entry.variant, entry.protocol, entry.model, entry.batch_size


def _applicability(source: CapturedUpdates, settings: UpdatesSettings, case: Case, variant: str) -> Applicability:
    """Which attacks can work on such updates, counted from sizes."""
    encoder, learner = parts_of(source, settings)
    setup = setup_of(source, settings, case, encoder, learner)
    return Applicability(
        dataset=source.name,
        variant=variant,
        protocol=case.protocol,
        model=settings.model,
        defense="none",
        batch_size=case.batch_size,
        rows=setup.total,
        steps=setup.steps,
        stops=what_stops(setup),
        findings=tuple(PartVerdict(**asdict(finding)) for finding in findings(setup)),
    )


STUDY = Updates()
