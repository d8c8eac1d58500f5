"""A property of a table: the share of rows for which something holds, or the mean of a column.

    sex == 'Female'
    age >= 18 and (`marital stat` != "Divorced" or not sex == 'Male')
    education in ('Masters degree(MA MS MEng MEd MSW MBA)', 'Doctorate degree(PhD EdD)')
    mean(age)

Backticks stand around a column name that is not one plain word, as in pandas and polars. The text is read as a syntax
tree of a few allowed forms; it is never run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import InputError
from seepage.data.conditions import Condition, Mean
from seepage.data.property_text import read
from seepage.data.schema import Schema
from seepage.data.table import Table


@dataclass(frozen=True)
class Property:
    """What an attacker wants to know about the rows a model was trained on.

    Args:
        text: as the user wrote it.
        measured: the condition, or the column whose mean is asked for.

    Example:
        >>> from seepage.data import Table, open_dataset
        >>> frame, schema = open_dataset("clinic")
        >>> share = Property.parse("age > 60", schema).share(Table.from_frame(frame, schema))
        >>> 0 < share < 1
        True
    """

    text: str
    measured: Condition | Mean

    @staticmethod
    def parse(text: str, schema: Schema) -> Property:
        """Read a property of tables with this schema; the target is a column too (class balance)."""
        return Property(text, read(text, schema))

    @property
    def is_share(self) -> bool:
        """Whether rows have it or not; the other kind is a mean."""
        return not isinstance(self.measured, Mean)

    def values(self, table: Table) -> np.ndarray:
        """(rows,) bool: which rows have it; of a mean the numbers (float64)."""
        return self.measured(table)

    def holds(self, table: Table) -> np.ndarray:
        """(rows,) bool: which rows have the property."""
        if not self.is_share:
            raise InputError(f"{self.text!r} is a mean; no single row has it or lacks it.")
        return self.values(table)

    def share(self, table: Table) -> float:
        """The share of rows that have the property; of a mean the mean."""
        if len(table) == 0:
            raise InputError("A table without rows has no share of anything.")
        return float(self.values(table).mean())
