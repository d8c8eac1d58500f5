"""What a party of vertical learning holds: what it knew before, and every tensor that it was sent. No truth is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from seepage._core import InputError, NotApplicable
from seepage.data import Layout
from seepage.results.facts import ThreatModel

# The kinds of tensors that attacks and defences are about, as messages name them.
INTERMEDIATE, GRADIENT = "intermediate results", "gradients"
PRETRAINING, FINETUNING, AFTER = "pretraining", "fine-tuning", "after training"


@dataclass(frozen=True, kw_only=True, eq=False)
class Received:
    """One tensor of a message, as the party that received it holds it.

    Args:
        sender: the party it came from.
        kind: what it is, such as ``intermediate results``.
        phase: ``pretraining``, ``fine-tuning`` or ``after training``.
        epoch: of the phase.
        training: False for validation and predictions.
        rows: (rows,) places of the aligned rows that it is about, as the host asked for them.
        values: (rows, width).
    """

    sender: str
    kind: str
    phase: str
    epoch: int
    training: bool
    rows: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.values):
            raise InputError(f"A message has {len(self.values)} lines of {self.kind} about {len(self.rows)} rows.")


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """The trained model, where it is handed over: the weights of the attacked guest, and what the host computed.

    Args:
        bottom: from (rows, width) encoded columns of the guest to its intermediate results.
        predict: from intermediate results of the guest and the places of their rows to logits; what the other guests
            sent for these rows is put in.
        logits: (rows, classes) what the host computed of all rows.
    """

    bottom: Callable[[Tensor], Tensor]
    predict: Callable[[Tensor, np.ndarray], Tensor]
    logits: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class HostScene:
    """What a host knows before it reads a guest's columns in messages.

    Args:
        guest: whose columns it wants.
        layout: of the guest's encoding: numbers, then one block for each column of categories.
        own: (rows, width) its own encoded columns; a width of 0 if it has none.
        labels: (rows,) its own, as codes.
        known_rows: (known,) places of rows of the guest that it knows anyway.
        known_x: (known, width of the encoding) these rows.
        noise: deviation of the noise on each entry that the guest sends, of which the host knows.
        released: the trained model, if the host has it.
    """

    guest: str
    layout: Layout
    own: np.ndarray
    labels: np.ndarray
    known_rows: np.ndarray
    known_x: np.ndarray
    noise: float = 0.0
    released: Released | None = None

    @property
    def rows(self) -> int:
        """Aligned rows."""
        return len(self.labels)

    def describe(self, seen: Sequence[Received]) -> ThreatModel:
        """Who stands here, what it was sent and what it knows, as sentences."""
        knows = [
            f"The host: the labels, {self.own.shape[1]} encoded columns of its own, and names, types and categories of "
            "the guests' columns.",
            "The host, for `known_rows`: some rows of a guest.",
        ]
        if self.released is not None:
            knows.append(
                "The host, for `equality_solving` and `generative_regression`: the trained weights of the guest, as "
                "when a model is handed over."
            )
        return ThreatModel(
            adversary=("An honest-but-curious host, which wants the guests' columns.",),
            sees=(f"The host, of every guest: {_kinds(seen)}.",),
            knows=tuple(knows),
            does_not_know=("The host: the guests' other rows, and for the other attacks the guests' weights.",),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class GuestScene:
    """What a guest knows before it reads the host's labels in messages.

    Args:
        guest: its name.
        own: (rows, width) its own encoded columns.
        bottom: (rows, width) what its own trained part makes of them; the guest computes it itself.
        shares: (classes,) how frequent the classes are.
        known_rows, known_labels: (known,) places and class codes of rows whose label it knows anyway.
    """

    guest: str
    own: np.ndarray
    bottom: np.ndarray
    shares: np.ndarray
    known_rows: np.ndarray
    known_labels: np.ndarray

    @property
    def rows(self) -> int:
        """Aligned rows."""
        return len(self.own)

    @property
    def classes(self) -> int:
        """Of the label."""
        return len(self.shares)

    def describe(self, seen: Sequence[Received]) -> ThreatModel:
        """Who stands here, what it was sent and what it knows, as sentences."""
        return ThreatModel(
            adversary=("Honest-but-curious guests, which want the labels.",),
            sees=(f"A guest, of the host: {_kinds(seen)}.",),
            knows=(
                "A guest: its own columns and weights, and how frequent the classes are.",
                "A guest, for `model_completion` and `gradient_completion`: some labels of every class.",
            ),
            does_not_know=("A guest: the other labels, and the host's weights.",),
        )


def averaged(seen: Sequence[Received], rows: int) -> np.ndarray:
    """(rows, width) the mean of all intermediate results after training: the weights rest, so only noise differs."""
    after = [each for each in seen if each.kind == INTERMEDIATE and each.phase == AFTER]
    if not after:
        raise NotApplicable("No intermediate results were sent after training.")
    total, count = np.zeros((rows, after[0].values.shape[1])), np.zeros(rows)
    for each in after:
        np.add.at(total, each.rows, each.values)
        np.add.at(count, each.rows, 1)
    if not count.all():
        raise NotApplicable(f"Intermediate results of {int((count == 0).sum())} rows were not sent after training.")
    mean: np.ndarray = total / count[:, None]
    return mean


def times_sent(seen: Sequence[Received]) -> int:
    """How often each row was sent after training, at least."""
    rows = [each.rows for each in seen if each.kind == INTERMEDIATE and each.phase == AFTER]
    return int(np.unique(np.concatenate(rows), return_counts=True)[1].min()) if rows else 0


def gradients_by_epoch(seen: Sequence[Received], rows: int, epochs: int) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of single rows in the last epochs of fine-tuning, and which rows have them.

    A host that takes the mean loss of a batch divides by its rows; that is undone, so that batches can be compared.

    Returns:
        (epochs, rows, width) gradients, the last epoch last, 0 where a row has none; and (rows,) which rows have one in
        each of these epochs.
    """
    sent = [each for each in seen if each.kind == GRADIENT and each.phase == FINETUNING and each.training]
    if not sent:
        raise NotApplicable("No gradients were received while fine-tuning.")
    numbers = sorted({each.epoch for each in sent})[-epochs:]
    found = np.zeros((len(numbers), rows, sent[0].values.shape[1]))
    there = np.zeros((len(numbers), rows), dtype=bool)
    for each in sent:
        if each.epoch in numbers:
            place = numbers.index(each.epoch)
            found[place, each.rows], there[place, each.rows] = each.values * len(each.rows), True
    return found, np.asarray(there.all(0))


def _kinds(seen: Sequence[Received]) -> str:
    return ", ".join(sorted({each.kind for each in seen})) or "nothing"
