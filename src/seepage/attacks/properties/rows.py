"""A table's rows in the form shadow models train on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seepage._core import InputError, unknown_name
from seepage.data import Statistics, Table
from seepage.models.encoded import Encoded


def encode_rows(table: Table, statistics: Statistics | None = None, *, flags: Sequence[str] = ()) -> Encoded:
    """Numbers first, then a one-hot column for each category, as the encoder of :mod:`seepage.data` orders them.

    Args:
        table: the rows; its target must have classes.
        statistics: shift and scale of the numbers, from an encoder; without them numbers stay as they are, as in
            the thesis.
        flags: binary columns that enter as one number, 0 or 1. The thesis does so with ``sex``, which makes
            Census-Income 509 columns wide.
    """
    schema = table.schema
    if not schema.target.classes:
        raise InputError(f"The target {schema.target.name!r} is a number; shadow models need classes.")
    binary = [column.name for column in schema.categorical if column.kind == "binary"]
    for name in flags:
        if name not in binary:
            raise unknown_name("binary column", name, binary)
    numbers = table.numbers
    if statistics is not None:
        numeric = slice(0, numbers.shape[1])
        numbers = (numbers - statistics.shift[numeric]) / statistics.scale[numeric]
    single = [place for place, column in enumerate(schema.categorical) if column.name in flags]
    several = [place for place, column in enumerate(schema.categorical) if column.name not in flags]
    return Encoded.of(
        np.concatenate([numbers, np.maximum(table.codes[:, single], 0)], 1),
        table.codes[:, several],
        [len(schema.categorical[place].categories) for place in several],
        table.target,
        len(schema.target.classes),
    )
