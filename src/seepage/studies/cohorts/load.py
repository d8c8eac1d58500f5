"""The cost of an audit of cohorts, counted from its settings."""

from __future__ import annotations

from seepage.attacks import Exact
from seepage.data.source import Source
from seepage.plans import registry
from seepage.studies.cohorts.running import CohortsChoice, attacks_on
from seepage.studies.cohorts.settings import CohortsSettings
from seepage.studies.load import Load, shape_of
from seepage.studies.rows.load import attack_load

BYTES = 4


def load_of(source: Source, settings: CohortsSettings, choice: CohortsChoice) -> Load:
    """What one federation and the attacks on its sums cost."""
    shape = shape_of(source, settings, choice.model, "cohorts")
    rows, rounds = settings.rows_each * choice.cohort_size, choice.rounds
    steps = settings.local_epochs * rounds * (settings.apart + 1)
    seconds, memory, piece = steps * shape.step(rows), BYTES * len(source.table) * shape.inputs * 3.0, 0.1
    for name in attacks_on(settings, choice):
        attack = registry.make("attack", name, "cohorts", settings.attack_options)
        if not hasattr(attack, "exact"):
            seconds += 0.1 * rounds
            continue
        exact: Exact = attack.exact()
        alone = attack.reads == "client"
        own = attack_load(exact, shape, settings.rows_each if alone else rows, 1, 1 if alone else rounds)
        seconds, memory, piece = seconds + own.seconds, max(memory, own.memory), max(piece, own.piece)
    return Load(seconds=seconds, memory=memory, piece=piece)
