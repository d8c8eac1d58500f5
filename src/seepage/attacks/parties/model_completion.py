"""A guest completes the model that it has half of, with a few labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from seepage._core import InputError, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages
from seepage.attacks.parties.few_labels import carried_labels
from seepage.attacks.parties.scores import claimed
from seepage.observation import Claim
from seepage.observation.parties import GuestScene, Received


@dataclass(frozen=True, kw_only=True)
class ModelCompletion:
    """A small head on what the guest's own trained part makes of its columns, fitted to the labels that it knows.

    Needs the guest's own columns and weights, which the host's gradients have trained, and a few labels of every class.
    It looks at no message: what leaks is in the weights.

    Args:
        rounds: of self-training on the rows that it is surest of; none by default: where a class is rare it does harm.

    Guarantees:
        None. In TabVFL a guest's part is linear and as wide as its columns, so there is little that its weights could
        have learnt; where a whole encoder lies at the guest, there is more.

    References:
        Fu et al., Label Inference Attacks Against Vertical Federated Learning, USENIX Security 2022. NOTE[DIFF] they
        train a deep head with MixMatch; this is a logistic regression with self-training.

    Example:
        >>> ModelCompletion(rounds=2).reads
        'labels'
    """

    rounds: int = 0

    reads: ClassVar[Literal["columns", "labels"]] = "labels"

    def __post_init__(self) -> None:
        if self.rounds < 0:
            raise InputError(f"There are {self.rounds} rounds of self-training; it must be 0 or more.")

    def start(self, scene: GuestScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages; it needs none."""

        def answer(seen: Sequence[Received]) -> Claim:
            return completed(scene, np.concatenate([scene.bottom, scene.own], 1), self.rounds, streams)

        return Messages(answer)

    def alone(self, scene: GuestScene, streams: Streams) -> Claim:
        """The same head with the same labels on the guest's columns as they are."""
        return completed(scene, scene.own, self.rounds, streams)


def completed(scene: GuestScene, features: np.ndarray, rounds: int, streams: Streams) -> Claim:
    """What a head on these features says of all rows."""
    scores = carried_labels(features, scene.known_rows, scene.known_labels, scene.shares, rounds, streams)
    return claimed(scores, np.ones(scene.rows, dtype=bool))
