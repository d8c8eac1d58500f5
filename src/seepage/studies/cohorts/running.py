"""Runs one federation of the study of cohorts, and every attack on its sums."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from seepage._core import NotApplicable, Outcome, Streams, under
from seepage.attacks.cohorts import SumsAttack
from seepage.models import fitting_threads
from seepage.observation import Claim
from seepage.plans import registry
from seepage.results import CohortsCell, Record
from seepage.results.cohorts import Counted
from seepage.studies.cohorts.making import Federation, counted, federated, knowledge_of
from seepage.studies.cohorts.scoring import scored
from seepage.studies.cohorts.settings import CohortsSettings
from seepage.studies.failing import ended
from seepage.studies.study import Found, Work

CHANGING, SAME = ("groups", "lone_entries"), ("stacked_sums",)  # attacks that several cohorts, or one, are for


@dataclass(frozen=True)
class CohortsChoice:
    """One federation."""

    model: str
    cohort_size: int
    rounds: int
    repeat: int

    @property
    def label(self) -> str:
        """In words."""
        watched = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return f"{self.model}, cohorts of {self.cohort_size}, {watched}, federation {self.repeat + 1}"


def attacks_on(settings: CohortsSettings, choice: CohortsChoice) -> list[str]:
    """The attacks that this federation shows something to: whose a row is, one cohort does not tell."""
    same = settings.stays(choice.cohort_size)
    left_out: list[str] = []
    if choice.rounds == 1 or same:
        left_out += CHANGING
    if choice.rounds == 1 or not same:
        left_out += SAME
    return [spec for spec in settings.attacks if spec.partition(":")[0] not in left_out]


def cells_of(
    table: str, settings: CohortsSettings, choice: CohortsChoice, variant: str
) -> dict[str, tuple[CohortsCell, str]]:
    """The cell of every attack, and which of its repeats a choice is."""
    own = {name: value for name, value in asdict(choice).items() if name != "repeat"}
    return {
        name: (
            CohortsCell(
                dataset=table,
                protocol=settings.protocol,
                clients=settings.clients,
                rows_each=settings.rows_each,
                reads=registry.make("attack", name, "cohorts").reads,
                attack=name,
                variant=variant,
                **own,
            ),
            f"run{choice.repeat}",
        )
        for name in attacks_on(settings, choice)
    }


def run_choice(work: Work) -> Found:
    """Make the sums of one federation, and let every attack that is not stored yet read them."""
    settings, choice = work.settings, work.choice
    cells = cells_of(work.source.name, settings, choice, work.variant)
    streams = Streams(settings.seed).child("repeat", choice.repeat)
    with fitting_threads(0):
        shown = federated(work.source, settings, choice.model, choice.cohort_size, choice.rounds, streams)
        rerun = any(cell.reads == "client" for cell, _ in cells.values())
        found = Found(cells=list(cells.values()), threat_model=shown.sums[0].describe(settings.clients, rerun=rerun))
        found.note("counted", _counted(work))
        for name, (cell, part) in cells.items():
            if not work.sink.has(cell, part):
                progress = under(f"{choice.label}, {name}", work.progress)
                progress("attacks", 0, 1)
                work.sink.add([attacked(cell, shown, settings, choice.repeat, streams.child("attack"))], part=part)
    return found


def attacked(cell: CohortsCell, shown: Federation, settings: CohortsSettings, repeat: int, streams: Streams) -> Record:
    """One attack on the sums; it gets them alone, the score also the truth."""
    attack: SumsAttack = registry.make("attack", cell.attack, "cohorts", settings.attack_options)
    began = time.perf_counter()
    claim = _claim(attack, shown, streams.child(type(attack).__name__))
    seconds = time.perf_counter() - began
    values, outcome, note = {}, claim.outcome, claim.note
    try:
        values = scored(attack.reads, claim, shown, knowledge_of(settings), streams.numpy("baselines"))
    except NotApplicable as error:
        outcome, note = Outcome.NOT_APPLICABLE, str(error)
    return Record(
        cell=cell,
        repeat=repeat,
        rows=shown.sums[0].exchange.rows,
        outcome=outcome.code,
        seconds=seconds,
        note=note,
        values=values,
    )


def _claim(attack: SumsAttack, shown: Federation, streams: Streams) -> Claim:
    """The attack's answer; one that says it cannot, or that breaks, is counted and never averaged."""
    try:
        attacker = attack.start(shown.sums[0].scene, streams)
        for each in shown.sums if attack.rerun else shown.rounds:
            attacker.see(each)
        (claim,) = attacker.claims()
    except Exception as error:  # noqa: BLE001  # an attack that breaks is a failed cell, whoever wrote it
        return ended(error, attack)
    return claim


def _counted(work: Work) -> Counted:
    """The smallest cohort that hides, before any attack."""
    settings, model = work.settings, work.choice.model
    limit = counted(work.source, settings, model)
    return Counted(
        dataset=work.source.name,
        variant=work.variant,
        model=model,
        protocol=settings.protocol,
        rows_each=settings.rows_each,
        **asdict(limit),
    )
