"""A guest groups rows by their gradients, without any label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from seepage._core import InputError, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages
from seepage.attacks.parties.clusters import clustered
from seepage.attacks.parties.scores import claimed
from seepage.observation import Claim
from seepage.observation.parties import GuestScene, Received, gradients_by_epoch


@dataclass(frozen=True, kw_only=True)
class GradientClusters:
    """Spectral clustering of rows by the directions of their gradients over some epochs.

    Needs gradients of fine-tuning, and how frequent the classes are; any number of classes.

    Args:
        epochs: the last ones that are looked at.

    Guarantees:
        None.

    References:
        Jiang et al., LEA: Label Enumeration Attack in Vertical Federated Learning, 2026, arXiv:2603.03777, for reading
        labels from groups of rows without auxiliary labels. NOTE[DIFF] LEA groups rows, trains a model for every naming
        of the groups, and keeps the one whose first gradients are most alike; here the gradients themselves are
        grouped, and groups are named by their sizes, because a guest does not know the host's first weights.

    Example:
        >>> GradientClusters().epochs
        10
    """

    epochs: int = 10

    reads: ClassVar[Literal["columns", "labels"]] = "labels"

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"Gradients of {self.epochs} epochs are looked at; at least one is needed.")

    def start(self, scene: GuestScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""

        def answer(seen: Sequence[Received]) -> Claim:
            gradients, told = gradients_by_epoch(seen, scene.rows, self.epochs)
            lengths = np.linalg.norm(gradients, axis=2, keepdims=True)
            directions = gradients / np.where(lengths > 0, lengths, 1.0)
            scores = np.zeros((scene.rows, scene.classes))
            scores[told] = clustered(np.concatenate(list(directions), 1)[told], scene.shares, streams)
            return claimed(scores, told)

        return Messages(answer)

    def alone(self, scene: GuestScene, streams: Streams) -> Claim:
        """Groups of rows by the guest's own columns."""
        return clusters_alone(scene, streams)


def clusters_alone(scene: GuestScene, streams: Streams) -> Claim:
    """What a guest without a single label makes of its own columns: groups of rows, named by their sizes."""
    deviation = scene.own.std(0)
    own = (scene.own - scene.own.mean(0)) / np.where(deviation > 1e-9, deviation, 1.0)
    return claimed(clustered(own, scene.shares, streams.child("alone")), np.ones(scene.rows, dtype=bool))
