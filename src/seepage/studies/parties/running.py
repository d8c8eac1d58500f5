"""Runs one training of the study of parties, and every attack on what crossed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from seepage._core import NotApplicable, Outcome, Streams
from seepage.attacks.parties import ColumnsAttack, LabelsAttack, PartyAttack
from seepage.defenses import Defense, PrivateMessages
from seepage.federation.vertical import Phase
from seepage.models import fitting_threads
from seepage.observation import Claim
from seepage.observation.parties import GuestScene, HostScene, Received
from seepage.plans import registry
from seepage.results import ALL_COLUMNS, ATTACK, Measure, PartiesCell, Record
from seepage.results.parties import ALONE, GUESS, MODEL
from seepage.studies.parties.scoring import Score, columns_score, labels_score, quality
from seepage.studies.parties.settings import PartiesSettings
from seepage.studies.parties.threat import threat_model
from seepage.studies.parties.watching import Watched, guest_scene, host_scene, watched
from seepage.studies.study import Found, Work
from seepage.studies.training.running import TrainingChoice, make_model

S = TypeVar("S", HostScene, GuestScene)


@dataclass(frozen=True)
class PartiesChoice:
    """One training."""

    design: str
    defense: str
    repeat: int

    @property
    def label(self) -> str:
        """In words."""
        behind = "" if self.defense == "none" else f", {self.defense}"
        return f"{self.design}{behind}, run {self.repeat + 1}"

    @property
    def training(self) -> TrainingChoice:
        """The same, as a choice of the study of training."""
        return TrainingChoice(self.design, "both", 0.0, "none", self.repeat)


def cells_of(
    table: str, settings: PartiesSettings, choice: PartiesChoice, variant: str
) -> dict[str, tuple[PartiesCell, str]]:
    """The cell of every attack, and which of its repeats a choice is."""
    return {
        name: (
            PartiesCell(
                dataset=table,
                design=choice.design,
                guests=settings.parties,
                reads=registry.make("attack", name, "parties").reads,
                attack=name,
                defense=choice.defense,
                variant=variant,
            ),
            f"run{choice.repeat}",
        )
        for name in settings.attacks
    }


def run_choice(work: Work) -> Found:
    """Train once, and let every attack that is not stored yet read what crossed."""
    settings, choice = work.settings, work.choice
    cells = cells_of(work.source.name, settings, choice, work.variant)
    parties = work.source.drawn(settings.training, choice.repeat)
    host = work.source.host or next(iter(parties.frames))
    defense = registry.make("defence", choice.defense, "parties")
    with fitting_threads(0):
        found = Found(cells=list(cells.values()), threat_model=threat_model(settings, choice, parties, host, defense))
        missing = {name: cell for name, cell in cells.items() if not work.sink.has(*cell)}
        if not missing:
            return found
        model = make_model(settings.training, choice.training)
        seen = watched(model, parties, host, defense, settings.predictions, progress=work.progress)
        worth = _worth(seen, defense, settings)
        for done, (name, (cell, part)) in enumerate(missing.items(), start=1):
            work.progress("attacks", done, len(missing), name)
            work.sink.add([_record(cell, seen, defense, settings, choice.repeat, worth)], part=part)
    return found


def _record(
    cell: PartiesCell,
    seen: Watched,
    defense: Defense,
    settings: PartiesSettings,
    repeat: int,
    worth: dict[str, float],
) -> Record:
    """What one attack reads, the mean over guests."""
    begin, scores, notes, outcome = time.perf_counter(), [], [], Outcome.OK
    for guest in seen.others:
        streams = Streams(settings.seed).child("parties", repeat, guest)
        try:
            score, outcome = _attacked(cell, seen, guest, defense, settings, streams)
            scores.append(score)
        except NotApplicable as error:
            notes.append(str(error))
    values = {Measure(MODEL, ALL_COLUMNS, name): value for name, value in worth.items()} if scores else {}
    if scores:
        values |= {
            Measure(source, ALL_COLUMNS, metric): float(np.mean([getattr(score, name) for score in scores]))
            for name, source, metric in _MEASURED
        }
    return Record(
        cell=cell,
        repeat=repeat,
        rows=len(seen.parties.train),
        outcome=(outcome if scores else Outcome.NOT_APPLICABLE).code,
        seconds=time.perf_counter() - begin,
        note=notes[0] if notes else "",
        values=values,
    )


_MEASURED = (
    ("read", ATTACK, "read"),
    ("gain", ATTACK, "gain"),
    ("either", ATTACK, "either"),
    ("alone", ALONE, "read"),
    ("guess", GUESS, "read"),
)


def _attacked(
    cell: PartiesCell, seen: Watched, guest: str, defense: Defense, settings: PartiesSettings, streams: Streams
) -> tuple[Score, Outcome]:
    """One attack on one guest, or by it; the attack gets a scene and messages, the score also the truth."""
    if cell.reads == "columns":
        reader: ColumnsAttack = registry.make("attack", cell.attack, "parties")
        host = host_scene(seen, guest, defense, settings, streams)
        claim, alone = answers(reader, host, seen.host_received(guest), streams.child(type(reader).__name__))
        return columns_score(claim, alone, seen, host), claim.outcome
    attack: LabelsAttack = registry.make("attack", cell.attack, "parties")
    scene = guest_scene(seen, guest, settings, streams)
    claim, alone = answers(attack, scene, seen.guest_received(guest), streams.child(type(attack).__name__))
    return labels_score(claim, alone, seen, scene), claim.outcome


def answers(attack: PartyAttack[S], scene: S, seen: list[Received], streams: Streams) -> tuple[Claim, Claim]:
    """What an attack claims with the messages, and without."""
    attacker = attack.start(scene, streams)
    for each in seen:
        attacker.see(each)
    (claim,) = attacker.claims()
    return claim, attack.alone(scene, streams)


def _worth(seen: Watched, defense: Defense, settings: PartiesSettings) -> dict[str, float]:
    """What the model is worth, and the epsilon of a row's own lines if the defence has one."""
    found = quality(seen)
    if isinstance(defense, PrivateMessages):
        tuned = len(seen.model.history_.of(Phase.FINETUNING))
        trained = tuned + len(seen.model.history_.of(Phase.PRETRAINING))
        times = tuned if defense.kind == "gradients" else trained + settings.predictions
        spent = defense.privacy(1.0, times).epsilon
        if np.isfinite(spent):
            found["epsilon"] = spent
    return found
