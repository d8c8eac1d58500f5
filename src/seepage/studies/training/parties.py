"""What the parties of a trained federation read of each other, from the messages they get anyway."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
import torch

from seepage._core import Streams
from seepage.attacks.vertical import binary_columns, direction_score, norm_score, read_directly, read_with_known_rows
from seepage.federation.vertical import Columns, Instruction, Kind, Message, Phase, Stamp, TabVFLClassifier
from seepage.federation.vertical.columns import table_of
from seepage.metrics import binary_found, columns_read, label_leak_auc

ROWS = 2_000  # that the checks look at


def privacy_values(
    model: TabVFLClassifier, frames: Mapping[str, pl.DataFrame], labels: np.ndarray, streams: Streams
) -> dict[tuple[str, str], float]:
    """Reconstruction by the host and label leakage to the guests, means over guests.

    It ends with a training step, so it comes last.

    Args:
        frames: the guests' tables, for scoring.
        labels: of all rows, for scoring.
    """
    federation = model.federation_
    rows = torch.from_numpy(np.sort(streams.numpy("privacy").permutation(len(labels))[:ROWS]))
    found: dict[tuple[str, str], list[float]] = {}

    def note(scope: str, metric: str, value: float) -> None:
        found.setdefault((scope, metric), []).append(value)

    for guest, columns in zip(federation.guests, model.columns_, strict=True):
        stamp = Stamp(Phase.FINETUNING, 0, 0, training=False)
        asked = Message("host", guest.name, Instruction.COMPUTE, stamp, {Kind.BATCH_IDS: rows.int()})
        z = guest.respond(asked).payload[Kind.INTERMEDIATE].numpy()
        if z.shape[1] == guest.width and guest.name in frames:
            _reading(columns, frames[guest.name], rows.numpy(), z, streams.child(guest.name), note)
    if len(model.classes_) == 2:
        for gradient in _gradients(model, rows):
            codes = (labels[rows.numpy()] == model.classes_[1]).astype(int)
            note("labels from gradients", "AUC by direction", label_leak_auc(direction_score(gradient), codes)["auc"])
            note("labels from gradients", "AUC by norm", label_leak_auc(norm_score(gradient), codes)["auc"])
    return {(f"privacy/{scope}", metric): float(np.mean(values)) for (scope, metric), values in found.items()}


def _reading(
    columns: Columns,
    frame: pl.DataFrame,
    rows: np.ndarray,
    z: np.ndarray,
    streams: Streams,
    note: Callable[[str, str, float], None],
) -> None:
    """What the host reads of one guest's columns."""
    table = table_of(frame[rows], columns.schema)
    encoder, statistics = columns.encoder, columns.statistics
    x = encoder.encode(table, statistics)
    direct = columns_read(encoder, statistics, read_directly(z, encoder.layout), table)
    note("cells read by the host", "as sent", direct.mean)
    note("cells read by the host", "guessing", direct.baseline_mean)
    known = streams.numpy("known").permutation(len(rows))[: min(z.shape[1] + 1, len(rows) // 2)]
    solved = columns_read(encoder, statistics, read_with_known_rows(z, known, x[known]), table)
    note("cells read by the host", "with as many known rows as columns", solved.mean)
    if encoder.layout.sizes and len(rows) >= 2 * (z.shape[1] + 1):
        columns_found = binary_columns(z, streams=streams.child("binary"))
        said = binary_found(columns_found.columns, x, encoder.layout)
        note("binary columns found", "share of categories", said["entries_found"])


def _gradients(model: TabVFLClassifier, rows: torch.Tensor) -> list[np.ndarray]:
    """The gradients that guests get for these rows in one step of fine-tuning."""
    sent: list[np.ndarray] = []
    channel = model.federation_.channel
    before = channel.traffic.listener
    channel.traffic.listener = lambda message: (
        sent.append(message.payload[Kind.GRADIENT].numpy())
        if message.task == Instruction.LEARN and message.payload
        else None
    )
    model.federation_.host.lost.clear()
    model.federation_.host.finetune(rows, Stamp(Phase.FINETUNING, 0, 0))
    channel.traffic.listener = before
    return sent
