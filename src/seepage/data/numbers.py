"""Numbers as people write them: 1,234.56 and 1.234,56 and 1 234, with a percent or currency sign, or in brackets.

A column is read in one style: its decimal sign is a point or a comma, and what groups thousands is another sign. Which
of the two is decided by all of its cells: 1.234 alone may be either.
"""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

Style = Literal["decimal_point", "decimal_comma"]
STYLES: tuple[Style, ...] = get_args(Style)

_DECIMAL = {"decimal_point": ".", "decimal_comma": ","}
_SIGNS = r"€|\$|£|¥|₹|₽|₺|US\$|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|zł|kr\.?|Fr\.|Rs\.?|%"
_BLANKS = "[\u00a0\u2007\u2009\u202f]"
_MARKED = rf"{_BLANKS}|^\(|^[−–]|{_SIGNS}|^\+"


def unmarked(series: pl.Series) -> pl.Series:
    """The text without currency and percent signs, with a plain minus and plain blanks."""
    text = series.str.strip_chars()
    if not text.str.contains(_MARKED).any():
        return text
    text = text.str.replace_all(_BLANKS, " ").str.replace(r"^[−–]", "-").str.replace(r"^\((.+)\)$", "-${1}")
    text = text.str.replace(rf"^([-+]?)\s*(?:{_SIGNS})\s*([-−]?)", "${1}${2}").str.replace(rf"\s*(?:{_SIGNS})$", "")
    return text.str.strip_chars()


def numbers_in(text: pl.Series, style: Style) -> pl.Series:
    """The numbers of unmarked text in a style, whole ones as integers; a cell that is no number is empty."""
    fits = text.str.contains(_pattern(style))
    plain = text.set(~fits, None) if not fits.all() else text
    groups = r"[,' ’]" if style == "decimal_point" else r"[.' ’]"
    plain = plain.str.replace_all(groups, "")
    if style == "decimal_comma":
        plain = plain.str.replace(",", ".", literal=True)
    whole = plain.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == plain.null_count() else plain.cast(pl.Float64, strict=False)


def _pattern(style: Style) -> str:
    decimal = _DECIMAL[style]
    other = "," if decimal == "." else r"\."
    groups = "|".join(rf"(?:{sign}\d{{3}})+" for sign in (other, "'", "’", " "))
    power = r"(?:[eE][+-]?\d{1,3})?"
    sign = r"\." if decimal == "." else ","
    return rf"^[+-]?(?:(?:[1-9]\d{{0,2}}(?:{groups})|\d+)(?:{sign}\d*)?|{sign}\d+){power}$"


def has_groups(text: pl.Series, style: Style) -> bool:
    """Whether a cell has grouped thousands if it is read in this style."""
    other = "," if style == "decimal_point" else r"\."
    return bool(text.str.contains(rf"^[+-]?[1-9]\d{{0,2}}(?:(?:{other}\d{{3}})+|(?:['’ ]\d{{3}})+)").any())


def has_long_ungrouped(text: pl.Series) -> bool:
    """Whether a whole number of four or more digits stands without groups: then others are hardly grouped."""
    return bool(text.str.contains(r"^[+-]?\d{4,}(?:[.,]|$)").any())


def has_leading_zero(text: pl.Series) -> bool:
    """Whether a cell is digits with a zero before others: 01234 is a code, not a number."""
    return bool(text.str.contains(r"^0\d+$").any())
