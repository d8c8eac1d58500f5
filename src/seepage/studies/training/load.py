"""The cost of a vertical training, counted from its settings."""

from __future__ import annotations

from seepage.studies.load import Load
from seepage.studies.training.running import AnyChoice, trainings_of
from seepage.studies.training.settings import TrainingSettings
from seepage.studies.training.tables import PartyTables

STEP = 0.02  # seconds of a mini batch at every party
ROW = 2e-6  # and of a column of one of its rows, for each number of the latent
AT_ONCE = 0.15  # of what a training costs alone, where many train at once
JUDGED = 3e-4  # seconds of a row for the six predictors


def load_of(source: PartyTables, settings: TrainingSettings, choice: AnyChoice) -> Load:
    """What the trainings of a task cost if none stops early."""
    trainings = len(trainings_of(settings, choice))
    rows = min(settings.rows, len(source.labels))
    columns = sum(len(frame.columns) for frame in source.frames.values())
    epochs = (settings.pretraining if choice.phases != "no pretraining" else 0) + (
        settings.finetuning if choice.phases != "no fine-tuning" else 0
    )
    batches = max(1, round(0.7 * rows) // settings.batch_size)
    wide = columns + settings.parties * settings.latent
    each = batches * STEP * settings.parties + rows * wide * ROW
    epoch = each * max(1.0, trainings * AT_ONCE)
    weights = settings.parties * settings.latent * (columns + settings.parties * settings.latent)
    return Load(
        seconds=epochs * epoch + JUDGED * rows * settings.evaluate * trainings,
        memory=8.0 * len(source.labels) * columns * 2
        + 64.0 * rows * wide
        + 64.0 * weights * trainings
        + 5.0 * rows * wide * (trainings - 1),
        piece=2 * epoch,
    )
