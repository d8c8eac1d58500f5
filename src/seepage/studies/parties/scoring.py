"""What was read, beside what the attacker has without a message and what guessing gets: here truth is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seepage._core import NotApplicable
from seepage.metrics import binary_found, columns_read
from seepage.metrics.label_scores import GUESSED, label_auc
from seepage.observation import Claim
from seepage.observation.parties import GuestScene, HostScene
from seepage.studies.parties.watching import Watched


@dataclass(frozen=True)
class Score:
    """One attack on one party.

    Args:
        read: share of cells, share of categories, or AUC of labels.
        alone: the same for the attacker's knowledge without a message.
        guess: the same for a guess.
        either: of labels, the AUC of an attacker who is told which group is which class; NaN for columns.
        full: what a gain is measured in: 1 for shares, twice an AUC's way from 0.5.
    """

    read: float
    alone: float
    guess: float
    full: float
    either: float = math.nan

    @property
    def gain(self) -> float:
        """What messages gave beyond the better of the two baselines."""
        return (self.read - max(self.alone, self.guess)) * self.full


def columns_score(claim: Claim, alone: Claim, seen: Watched, scene: HostScene) -> Score:
    """Cells of a guest's rows that the host did not know; of found columns the share of all categories."""
    if claim.columns is not None:
        found = binary_found(claim.columns, seen.encoded(scene.guest), scene.layout)["entries_found"]
        return Score(float(np.nan_to_num(found)), 0.0, 0.0, 1.0)
    rest = np.setdiff1d(np.arange(scene.rows), scene.known_rows)
    columns = next(each for each in seen.model.columns_ if each.name == scene.guest)
    table = seen.table(scene.guest, rest)
    assert claim.rows is not None
    read = columns_read(columns.encoder, columns.statistics, claim.rows[rest], table)
    without = (
        columns_read(columns.encoder, columns.statistics, alone.rows[rest], table).mean
        if alone.rows is not None
        else read.baseline_mean
    )
    return Score(read.mean, without, read.baseline_mean, 1.0)


def labels_score(claim: Claim, alone: Claim, seen: Watched, scene: GuestScene) -> Score:
    """Labels of trained rows that the guest did not know."""
    assert claim.label_scores is not None
    assert claim.determined is not None
    told = claim.determined.copy()
    told[scene.known_rows] = False
    trained = np.zeros(scene.rows, dtype=bool)
    trained[seen.parties.train] = True
    told &= trained
    if len(np.unique(seen.codes[told])) < 2:
        raise NotApplicable("All labels that a guest does not know are of one class, so there is nothing to read.")
    without = label_auc(alone.label_scores[told], seen.codes[told]) if alone.label_scores is not None else GUESSED
    read = label_auc(claim.label_scores[told], seen.codes[told])
    either = max(read, 1 - read) if scene.classes == 2 else math.nan
    return Score(read, without, GUESSED, 2.0, either)


def quality(seen: Watched) -> dict[str, float]:
    """What the model is worth on rows that it never saw: the price of a defence."""
    from sklearn.metrics import f1_score  # takes a second to load

    fresh = np.setdiff1d(np.arange(len(seen.codes)), np.concatenate([seen.parties.train, seen.parties.validation]))
    truth, chances = seen.codes[fresh], seen.probabilities[fresh]
    predicted = chances.argmax(1)
    found = {
        "f1": float(f1_score(truth, predicted, average="weighted", zero_division=0)),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
    }
    if len(np.unique(truth)) > 1:
        found["roc_auc"] = label_auc(chances, truth)
    return found
