"""A guest takes rows whose gradients point to the smaller side for the rarer class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from seepage._core import InputError, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages
from seepage.attacks.parties.gradient_clusters import clusters_alone
from seepage.attacks.parties.scores import check_two_classes, rarer_class
from seepage.attacks.vertical.labels import direction_score
from seepage.observation import Claim
from seepage.observation.parties import GuestScene, Received, gradients_by_epoch


@dataclass(frozen=True, kw_only=True)
class GradientDirection:
    """To which of two opposite sides a row's gradient points, the mean over some epochs.

    Needs gradients of fine-tuning, and which of two classes is the rarer one.

    Args:
        epochs: the last ones that are looked at.

    Guarantees:
        Where the host's model is one linear layer, the sides are the classes. TabNet's is not.

    References:
        Li et al., Label leakage and protection in two-party split learning, ICLR 2022.

    Example:
        >>> GradientDirection().epochs
        10
    """

    epochs: int = 10

    reads: ClassVar[Literal["columns", "labels"]] = "labels"

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"Gradients of {self.epochs} epochs are looked at; at least one is needed.")

    def start(self, scene: GuestScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""
        check_two_classes(scene)

        def answer(seen: Sequence[Received]) -> Claim:
            gradients, told = gradients_by_epoch(seen, scene.rows, self.epochs)
            score = np.zeros(scene.rows)
            score[told] = np.mean([direction_score(each[told]) for each in gradients], axis=0)
            return rarer_class(scene, score, told)

        return Messages(answer)

    def alone(self, scene: GuestScene, streams: Streams) -> Claim:
        """Groups of rows by the guest's own columns."""
        return clusters_alone(scene, streams)
