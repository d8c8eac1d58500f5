"""Runs one choice of the study of cheating servers: clients answer, attacks read, and a client's checks look on."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from seepage._core import Streams
from seepage.attacks.malicious import ServerAttack, Trap
from seepage.defenses.received import check_received
from seepage.metrics import Reference
from seepage.metrics.baselines import marginal
from seepage.metrics.read_rows import rows_read
from seepage.observation import Claim
from seepage.plans import registry
from seepage.results import ALL_COLUMNS, ATTACK, Measure, Record, ServersCell
from seepage.results.servers import CHECKS, CLIENT, GUESS
from seepage.studies.failing import ended
from seepage.studies.servers.clients import Client, Setting, prepared
from seepage.studies.servers.settings import ServersSettings
from seepage.studies.study import Found, Work


@dataclass(frozen=True)
class ServersChoice:
    """One protocol, model, number of rows and number of rounds."""

    protocol: str
    model: str
    batch_size: int
    rounds: int

    @property
    def label(self) -> str:
        """In words."""
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return f"{self.protocol}, {self.model}, {self.batch_size} rows, {rounds}"


def attacks_of(settings: ServersSettings, choice: ServersChoice) -> list[str]:
    """Those that use as many rounds: an attack of one round is run where the fewest are."""
    fewest = choice.rounds == min(settings.rounds)
    made = {name: registry.make("attack", name, "servers", settings.attack_options) for name in settings.attacks}
    return [name for name, attack in made.items() if fewest or attack.several_rounds]


def cells_of(
    table: str, settings: ServersSettings, choice: ServersChoice, variant: str
) -> dict[str, tuple[ServersCell, str]]:
    """The cell of every attack."""
    return {
        name: (
            ServersCell(
                dataset=table,
                protocol=choice.protocol,
                model=choice.model,
                batch_size=choice.batch_size,
                rounds=choice.rounds,
                attack=name,
                variant=variant,
            ),
            "",
        )
        for name in attacks_of(settings, choice)
    }


def run_choice(work: Work) -> Found:
    """Every attack on every client."""
    settings, choice = work.settings, work.choice
    setting = prepared(work.source, settings, choice.model, choice.protocol, choice.batch_size)
    streams = Streams(settings.seed).child("servers", choice.protocol, choice.batch_size)
    first = setting.client(streams.numpy("rows", 0))
    scene = setting.scene(first.exchange, choice.rounds, streams.numpy("public"))
    cells = cells_of(work.source.name, settings, choice, work.variant)
    found = Found(cells=list(cells.values()), threat_model=scene.describe())
    reference = Reference.of(setting.splits.train)
    for done, (name, (cell, part)) in enumerate(cells.items(), start=1):
        work.progress("attacks", done, len(cells), name)
        if work.sink.has(cell, part):
            continue
        attack = registry.make("attack", name, "servers", settings.attack_options)
        records = [_record(cell, setting, attack, number, streams, reference) for number in range(settings.trials)]
        work.sink.add(records, part=part)
    return found


def _record(
    cell: ServersCell, setting: Setting, attack: ServerAttack, number: int, streams: Streams, reference: Reference
) -> Record:
    """One attack on one client."""
    begin = time.perf_counter()
    client = setting.client(streams.numpy("rows", number))
    noticed: dict[Measure, float] = {}
    try:
        claim, traps = _attacked(attack, setting, client, cell.rounds, streams.child(number))
        noticed = _noticed(setting, client, traps)
    except Exception as error:  # noqa: BLE001  # an attack that breaks is a failed cell, whoever wrote it
        claim = ended(error, attack)
    values: dict[Measure, float] = {}
    if claim.rows is not None:
        values = _scores(setting, client, claim) | noticed
        values |= _guessed(client, reference, streams.numpy("guess", number))
        read, guess = (values[Measure(source, ALL_COLUMNS, "emr")] for source in (ATTACK, GUESS))
        values[Measure(ATTACK, ALL_COLUMNS, "gain")] = read - guess
    return Record(
        cell=cell,
        repeat=number,
        rows=len(client.table),
        outcome=claim.outcome.code,
        seconds=time.perf_counter() - begin,
        note=claim.note if claim.rows is None else "",
        values=values,
    )


def _attacked(
    attack: ServerAttack, setting: Setting, client: Client, rounds: int, streams: Streams
) -> tuple[Claim, list[Trap]]:
    """The server makes weights, the client answers, the server reads; it never sees the rows."""
    scene = setting.scene(client.exchange, rounds, streams.numpy("public"))
    traps = attack.prepare(scene, streams.child("attack"))
    order = streams.numpy("order")
    answers = [client.answer(trap, setting.settings, order) for trap in traps]
    return attack.read(scene, traps, answers), traps


def _scores(setting: Setting, client: Client, claim: Claim) -> dict[Measure, float]:
    assert claim.rows is not None
    told = claim.determined if claim.determined is not None else np.ones(len(claim.rows), dtype=bool)
    certified = claim.certified if claim.certified is not None else np.zeros(len(told), dtype=bool)
    numbers, codes = setting.encoder.decode(claim.rows[told], setting.statistics, project=True)
    read = rows_read(numbers, codes, certified[told], client.table)
    scores = {"exact": read.exact, "emr": read.near, "certified": read.certified}
    scores["certified_wrong"] = float(read.certified_wrong)
    return {Measure(ATTACK, ALL_COLUMNS, name): value for name, value in scores.items()}


def _guessed(client: Client, reference: Reference, generator: np.random.Generator) -> dict[Measure, float]:
    """What rows that are drawn from the columns' marginals get."""
    numbers, codes = marginal(len(client.table), reference, reference, generator)
    read = rows_read(numbers, codes, np.zeros(len(numbers), dtype=bool), client.table)
    return {Measure(GUESS, ALL_COLUMNS, "exact"): read.exact, Measure(GUESS, ALL_COLUMNS, "emr"): read.near}


def _noticed(setting: Setting, client: Client, traps: list[Trap]) -> dict[Measure, float]:
    """What the client's checks say of the first model that it was sent, and of the step to the second."""
    learner = setting.learner
    before = traps[0].parameters if len(traps) > 1 else learner.initial()
    findings = check_received(learner, traps[-1].parameters, before=before, rows=client.x)
    found = {each.check for each in findings}
    values = {Measure(CLIENT, ALL_COLUMNS, name): float(name in found) for name in CHECKS}
    return {Measure(CLIENT, ALL_COLUMNS, "noticed"): float(bool(findings))} | values
