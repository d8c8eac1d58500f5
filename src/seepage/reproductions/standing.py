"""Where our number of a cell stands beside the paper's: within its spread, above it or below it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from seepage.reproductions.stored import Comparison

_STAND_IN = re.compile(r" \(for .+\)$")  # how a stored table calls a data set in place of one that cannot be had


# Of the papers' metrics: those of which less is better, and those that describe and are neither better nor worse.
LESS_IS_BETTER = ("mse", "rmse", "iterations", "train_loss", "valid_loss")
DESCRIBING = ("entropy_cat", "entropy_num", "data_share_cat", "data_share_num")


class Verdict(StrEnum):
    """What is said of a cell."""

    WITHIN = "within"
    ABOVE = "above"
    BELOW = "below"
    FAILED = "failed"
    ALONE = "alone"


def verdict(cell: Comparison) -> Verdict:
    """Whether our number is within the published spread.

    With a published deviation: no farther from the published number than that. Without one (or with one that the paper
    rounds to nothing): our interval covers the published number. One trial has no interval; it is within only if it is
    the published number. A cell of another data set, in place of the paper's, is not judged. Above and below are of the
    value, whether or not a larger one is better.
    """
    if cell.published is None or any(map(_STAND_IN.search, cell.place.values())):
        return Verdict.ALONE
    if cell.ours is None:
        return Verdict.FAILED
    distance = cell.ours - cell.published
    if cell.spread:
        within = abs(distance) <= cell.spread + 1e-9
    elif cell.low is not None and cell.high is not None:
        within = cell.low <= cell.published <= cell.high
    else:
        within = distance == 0
    if within:
        return Verdict.WITHIN
    return Verdict.ABOVE if distance > 0 else Verdict.BELOW


@dataclass(frozen=True)
class Standing:
    """How many cells of a table stand where.

    Args:
        cells: of ours beside which there is a published number.
        failed: of them, those without a number of ours.
        weaker: of them, those whose number of ours is worse by more than the spread. Doubt, and how many cells have
            it, are neither better nor worse.
        clearly: of these, those whose interval of ours does not reach the published number either.
    """

    cells: int = 0
    within: int = 0
    above: int = 0
    below: int = 0
    failed: int = 0
    weaker: int = 0
    clearly: int = 0

    def __add__(self, other: Standing) -> Standing:
        return Standing(
            self.cells + other.cells,
            self.within + other.within,
            self.above + other.above,
            self.below + other.below,
            self.failed + other.failed,
            self.weaker + other.weaker,
            self.clearly + other.clearly,
        )


def standing(cells: Iterable[Comparison], *, describes: bool = False) -> Standing:
    """Count the cells that have a published number beside them.

    Args:
        describes: the numbers are no measure of an attack, so none is weaker.
    """
    judged = [(verdict(cell), cell) for cell in cells]
    said = [each for each, _ in judged if each is not Verdict.ALONE]
    weaker = [] if describes else [cell for each, cell in judged if _weaker(each, cell.metric)]
    return Standing(
        cells=len(said),
        within=said.count(Verdict.WITHIN),
        above=said.count(Verdict.ABOVE),
        below=said.count(Verdict.BELOW),
        failed=said.count(Verdict.FAILED),
        weaker=len(weaker),
        clearly=sum(not _reached(cell) for cell in weaker),
    )


def _weaker(said: Verdict, metric: str) -> bool:
    worse = Verdict.ABOVE if metric in LESS_IS_BETTER else Verdict.BELOW
    return said is worse and metric not in DESCRIBING


def _reached(cell: Comparison) -> bool:
    """Whether our interval covers the published number."""
    return cell.low is not None and cell.high is not None and cell.low <= (cell.published or 0.0) <= cell.high
