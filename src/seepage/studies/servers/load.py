"""The cost of an audit of a cheating server, counted from its settings."""

from __future__ import annotations

from seepage.data.source import Source
from seepage.studies.load import FLOPS, Load, shape_of
from seepage.studies.servers.running import ServersChoice, attacks_of
from seepage.studies.servers.settings import ServersSettings

ROW = 1.5e-3  # seconds to read a row back
BYTES = 8


def load_of(source: Source, settings: ServersSettings, choice: ServersChoice) -> Load:
    """What the answers of all clients and reading them cost."""
    shape = shape_of(source, settings, choice.model, "servers")
    rows, attacks = choice.batch_size, len(attacks_of(settings, choice))
    passes = settings.local_epochs if choice.protocol == "fedavg" else 1
    answer = 6 * rows * passes * shape.parameters / FLOPS
    one = choice.rounds * answer + 0.1 + rows * ROW
    memory = BYTES * (rows * (shape.inputs + 2000) + 4 * shape.parameters * choice.rounds)
    return Load(seconds=attacks * settings.trials * one, memory=memory, piece=one)
