"""A guest learns from a few labels what gradients look like, and reads all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from seepage._core import InputError, NotApplicable, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages
from seepage.attacks.parties.few_labels import carried_labels
from seepage.attacks.parties.model_completion import completed
from seepage.attacks.parties.scores import claimed
from seepage.observation import Claim
from seepage.observation.parties import GuestScene, Received, gradients_by_epoch


@dataclass(frozen=True, kw_only=True)
class GradientCompletion:
    """Two small heads, on the gradients that a guest got for each row and on its own columns; their answers are added.

    Needs gradients of fine-tuning and a few labels of every class, to which both are fitted. The features of gradients
    are their mean length, and their directions in the few dimensions in which those of all rows vary most.

    Args:
        epochs: the last ones that are looked at.
        dimensions: of directions.
        rounds: of self-training on the rows that it is surest of; 0 uses the known labels only.

    Guarantees:
        None.

    References:
        Seepage, after Li et al. 2022 (what gradients tell) and Fu et al. 2022 (a few labels).

    Example:
        >>> GradientCompletion().dimensions
        3
    """

    epochs: int = 10
    dimensions: int = 3
    rounds: int = 0

    reads: ClassVar[Literal["columns", "labels"]] = "labels"

    def __post_init__(self) -> None:
        if min(self.epochs, self.dimensions) < 1 or self.rounds < 0:
            raise InputError("Epochs and dimensions must be above 0, and rounds of self-training 0 or more.")

    def start(self, scene: GuestScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""

        def answer(seen: Sequence[Received]) -> Claim:
            gradients, told = gradients_by_epoch(seen, scene.rows, self.epochs)
            if not told[scene.known_rows].all():
                raise NotApplicable("A row whose label is known got no gradient.")
            places = np.flatnonzero(told)
            known = np.searchsorted(places, scene.known_rows)
            features = self._features(gradients[:, told])
            scores = np.zeros((scene.rows, scene.classes))
            for each in (features, scene.own[told]):  # what one of them does not know, it hardly says
                scores[told] += carried_labels(each, known, scene.known_labels, scene.shares, self.rounds, streams)
            return claimed(scores, told)

        return Messages(answer)

    def alone(self, scene: GuestScene, streams: Streams) -> Claim:
        """The head on the guest's own columns."""
        return completed(scene, scene.own, self.rounds, streams)

    def _features(self, gradients: np.ndarray) -> np.ndarray:
        """(rows, features) the mean logarithm of lengths, and leading directions, of (epochs, rows, width) gradients.

        Few features, because there are few labels: with one length for each epoch and eight directions it read less.
        """
        lengths = np.linalg.norm(gradients, axis=2)
        least = 1e-6 * max(float(lengths.max()), 1e-30)
        unit = np.concatenate(list(gradients / np.maximum(lengths, least)[:, :, None]), 1)
        left, sizes, _ = np.linalg.svd(unit, full_matrices=False)
        leading = left[:, : self.dimensions] * sizes[: self.dimensions]
        return np.concatenate([np.log(np.maximum(lengths, least)).mean(0)[:, None], leading], 1)
