"""Attacks on sums over cohorts: what secure aggregation leaves to a server that watches."""

from seepage.attacks.cohorts.attack import SumsAttack
from seepage.attacks.cohorts.categories import CategoriesOfSum
from seepage.attacks.cohorts.difference import Difference
from seepage.attacks.cohorts.groups import Groups
from seepage.attacks.cohorts.lone_entries import LoneEntries
from seepage.attacks.cohorts.rows import RowsOfSum
from seepage.attacks.cohorts.stacked import StackedSums

__all__ = ["CategoriesOfSum", "Difference", "Groups", "LoneEntries", "RowsOfSum", "StackedSums", "SumsAttack"]
