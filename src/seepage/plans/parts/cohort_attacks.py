"""Attacks on sums over cohorts, by name."""

from __future__ import annotations

from functools import partial

from seepage.attacks import cohorts
from seepage.plans.part import Part

_part = partial(Part, works_on=("cohorts",))
_SUM = "sums over cohorts and the model; how many rows are behind each"
_WHO = f"{_SUM}; who took part"

COHORTS = (
    _part(
        name="rows_of_sum",
        make=cohorts.RowsOfSum,
        about="Reads every sum as one large batch by algebra, and proves rows of somebody in the cohort. A default.",
        needs=_SUM,
        paper="Seepage (docs/explanation/sums.md)",
    ),
    _part(
        name="stacked_sums",
        make=cohorts.StackedSums,
        about="Lays several rounds of the same cohort on top of each other: what one round hides, two may show. A "
        "default.",
        needs=f"{_SUM}; the same cohort in every round (--cohorts same)",
        paper="Seepage (docs/explanation/sums.md)",
    ),
    _part(
        name="groups",
        make=cohorts.Groups,
        about="Asks in which rounds a proven row is, and names the client that this leaves. A default.",
        needs=f"{_WHO}; changing cohorts, clients whose rows stay the same",
        paper="after Marchand et al., SRATTA, ICML 2023",
    ),
    _part(
        name="difference",
        make=cohorts.Difference,
        about="Subtracts sums at the same weights until one client is left, and reads it. A default.",
        needs=f"{_WHO}; a round that was run again without a client",
        paper="Seepage (docs/explanation/sums.md)",
    ),
    _part(
        name="lone_entries",
        make=cohorts.LoneEntries,
        about="Names the client that has a category from the rounds in which its weights move. A default.",
        needs=f"{_WHO}; changing cohorts, clients whose rows stay the same",
        paper="Seepage (docs/explanation/sums.md)",
    ),
    _part(
        name="categories_of_sum",
        make=cohorts.CategoriesOfSum,
        about="Lists the categories that somebody of the watched clients has, and those that nobody has. A default.",
        needs=_SUM,
        paper="Seepage (docs/explanation/sums.md)",
    ),
)
