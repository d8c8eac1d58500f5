"""One trial, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from seepage.results.cells import Cell

ATTACK = "attack"
PRIOR = "prior"
BASELINES = (PRIOR, "uniform", "marginal")
TABLEAK_RANDOM = "tableak_random"  # a published baseline, told beside published numbers only
MatchingName = Literal["l1", "cells", "study"]  # how rows are paired, see metrics/matching.py
MATCHING_RULES: tuple[MatchingName, ...] = get_args(MatchingName)
ALL_COLUMNS = ""  # the scope of a number about all columns together


# What is a share of rows or cells, whichever rule matched them: no interval of such a number ends outside 0 and 1.
SHARES = (
    "accuracy", "accuracy_num", "accuracy_cat", "emr", "exact", "certified", "certified_wrong", "determined",
    "label_accuracy",
)  # fmt: skip


@dataclass(frozen=True)
class Measure:
    """The name of a number: whose (``attack`` or a baseline), about what, and which metric.

    ``scope`` is a column's name, ``ALL_COLUMNS`` for all columns together, or a bucket of doubt (``Bucket.scope``).
    """

    source: str
    scope: str
    metric: str


def by_rule(metric: str, rule: str) -> str:
    """The name of a metric of rows that are matched by this rule.

    Example:
        >>> by_rule("accuracy", "cells")
        'accuracy_by_cells'
    """
    return f"{metric}_by_{rule}"


def is_share(metric: str) -> bool:
    """Whether it is a share of rows or cells.

    Example:
        >>> is_share("emr_by_study"), is_share("psnr")
        (True, False)
    """
    return metric.partition("_by_")[0] in SHARES


@dataclass(frozen=True, kw_only=True)
class Record:
    """One trial: an attack on one client's update, a recovery of everyone's rows, a target model, a training.

    A record whose outcome is not scored has no values: it is counted as failed and never averaged.
    """

    cell: Cell
    repeat: int = 0
    client: int = 0
    round: int = 0
    exposure: float = 0.0
    rows: int = 0
    outcome: str
    seconds: float = 0.0
    note: str = ""
    values: Mapping[Measure, float]

    @property
    def scored(self) -> bool:
        return bool(self.values)
