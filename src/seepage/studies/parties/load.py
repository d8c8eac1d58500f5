"""The cost of an audit of parties, counted from its settings."""

from __future__ import annotations

from seepage.studies.load import Load
from seepage.studies.parties.running import PartiesChoice
from seepage.studies.parties.settings import WITH_WEIGHTS, PartiesSettings
from seepage.studies.training.load import load_of as training_load
from seepage.studies.training.tables import PartyTables

CELL = 2e-7  # seconds of a column of a row, for each column, in an attack's algebra
DESCENT = 8.0  # seconds of an attack that trains a network


def load_of(source: PartyTables, settings: PartiesSettings, choice: PartiesChoice) -> Load:
    """What one training and the attacks on it cost."""
    plain = settings.training.model_copy(update={"evaluate": False})
    trained = training_load(source, plain, choice.training)
    rows = min(settings.rows, len(source.labels))
    columns = sum(len(frame.columns) for frame in source.frames.values())
    names = [spec.partition(":")[0] for spec in settings.attacks]
    attacks = len(names) * (0.3 + rows * columns**2 * CELL) + DESCENT * sum(name in WITH_WEIGHTS for name in names)
    attacked = attacks * (settings.parties - 1)
    kept = 16.0 * rows * columns * (settings.predictions + 10)
    return Load(
        seconds=trained.seconds + attacked, memory=trained.memory + kept, piece=trained.piece + attacked / len(names)
    )
