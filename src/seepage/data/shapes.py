"""The shape of a cell: what it looks like without what it says."""

from __future__ import annotations

import re
from collections import Counter

import polars as pl

_LONG = 14
_SAMPLE = 40


def shape(cell: str) -> str:
    """Digits as 9, letters as a or A, signs as they are; long words and long cells are cut.

    Example:
        >>> shape("ab-12"), shape("1,234.56"), shape("Gothenburg")
        ('aa-99', '9,999.99', 'Aaaa..')
    """
    plain = "".join("9" if c.isdigit() else ("A" if c.isupper() else "a") if c.isalpha() else c for c in cell)
    plain = re.sub(r"([Aa]{4})[Aa]+", r"\1..", plain)
    return plain if len(plain) <= _LONG else plain[: _LONG - 2] + ".."


def shapes(series: pl.Series, most: int = 2) -> tuple[str, ...]:
    """The commonest shapes of a column's first cells."""
    if series.dtype in (pl.Object, pl.Binary) or series.dtype.is_nested():
        return ()
    cells = series.drop_nulls().head(_SAMPLE).cast(pl.String).str.strip_chars().to_list()
    return tuple(each for each, _ in Counter(map(shape, cells)).most_common(most))
