"""Which claimed row stands for which true row: an update does not know the order of its rows.

A matching rule is a cost of every pair; the pairing with the least total cost is taken (Hungarian method). One rule is
chosen for a run, and it pairs the rows of the attack and those of every baseline alike: a rule that looks for right
cells finds more of them in any rows, also in guessed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from seepage.results import MatchingName


@dataclass(frozen=True, eq=False)
class Side:
    """Rows that are matched: the true ones, or those of a claim or of a guess.

    Args:
        raw: (rows, width) model inputs as they were claimed: a block may be no single category.
        encoded: (rows, width) the decoded rows, encoded again: valid rows only.
        numbers, codes: the decoded rows.
    """

    raw: np.ndarray
    encoded: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class Scale:
    """What a rule needs to know beside the rows.

    Args:
        tolerance: (numeric columns,) within which a number is right.
        embedded: the model looks categories up instead of taking one-hot blocks.
    """

    tolerance: np.ndarray
    embedded: bool


Rule = Callable[[Side, Side, Scale], np.ndarray]  # true, claimed -> (true rows, claimed rows) costs


def by_distance(true: Side, claimed: Side, scale: Scale) -> np.ndarray:
    """L1 distance of the decoded rows, encoded again. The default."""
    return l1_cost(true.encoded, claimed.encoded)


def by_cells(true: Side, claimed: Side, scale: Scale) -> np.ndarray:
    """The more cells are right, the nearer (TabLeak). Equal counts are frequent, and any of them may be taken."""
    cost = np.zeros((len(true.numbers), len(claimed.numbers)), dtype=np.int32)
    for j in range(true.numbers.shape[1]):  # column by column: all pairs of all columns would not fit
        cost -= np.abs(true.numbers[:, j, None] - claimed.numbers[None, :, j]) <= scale.tolerance[j]
    for j in range(true.codes.shape[1]):
        cost -= true.codes[:, j, None] == claimed.codes[None, :, j]
    return cost


def by_variables(true: Side, claimed: Side, scale: Scale) -> np.ndarray:
    """L1 distance of the attack's own variables; ordinal codes where the model embeds categories (profiling study).

    NOTE[DIFF] the study matches its random baseline in raw units, where the column of the largest numbers decides;
    here guesses are matched in the model's inputs, as the attack is.
    """
    if not scale.embedded:
        return l1_cost(true.encoded, claimed.raw)
    numeric = true.numbers.shape[1]
    sides = [np.concatenate([side.raw[:, :numeric], side.codes], axis=1) for side in (true, claimed)]
    return l1_cost(*sides)


MATCHINGS: Mapping[MatchingName, Rule] = {"l1": by_distance, "cells": by_cells, "study": by_variables}


def match_rows(cost: np.ndarray) -> np.ndarray:
    """For each true row the claimed row that stands for it, so that the total cost is least (Hungarian method).

    Args:
        cost: (true rows, claimed rows).

    Returns:
        (true rows,) places of the claimed rows.
    """
    true, claimed = linear_sum_assignment(cost)
    order: np.ndarray = claimed[np.argsort(true)]
    return order


def l1_cost(true: np.ndarray, claimed: np.ndarray) -> np.ndarray:
    """L1 distance of encoded rows. Values beyond any use are cut so that the sums stay finite."""
    cost: np.ndarray = cdist(true, np.nan_to_num(claimed, nan=0.0, posinf=1e9, neginf=-1e9), "cityblock")
    return cost
