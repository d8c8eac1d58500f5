"""Yes and no in their spellings."""

from __future__ import annotations

import polars as pl

_YES = frozenset(("yes", "y", "true", "t", "ja", "j", "wahr", "oui", "o", "vrai", "si", "sí", "s", "on", "1"))
_NO = frozenset(("no", "n", "false", "f", "nein", "falsch", "non", "faux", "off", "0"))
_MOST = 30  # spellings


def as_flags(text: pl.Series) -> pl.Series | None:
    """Yes and no of a column, in one spelling if there are several; nothing if it is something else.

    Two different words stay as they are: they are two categories already, and people know them. Single letters of
    different pairs (t, f, y, n) are codes rather than answers.
    """
    words = _words(text)
    if words is None:
        return None
    if len(words) == 2:
        return text
    folded = set(words.values())
    if len(folded) > 2 and all(len(word) == 1 for word in folded):
        return None
    spelled = {word: "yes" if low in _YES else "no" for word, low in words.items()}
    return text.replace_strict(spelled, default=None, return_dtype=pl.String)


def as_truth(text: pl.Series) -> pl.Series | None:
    """1 for yes and 0 for no; nothing if the column is something else."""
    words = _words(text)
    if words is None:
        return None
    truth = {word: int(low in _YES) for word, low in words.items()}
    return text.replace_strict(truth, default=None, return_dtype=pl.Int64)


def _words(text: pl.Series) -> dict[str, str] | None:
    """The spellings of a column and their small letters, if they say yes and no and nothing else."""
    distinct = text.drop_nulls().unique()
    if not 2 <= len(distinct) <= _MOST:
        return None
    words = {word: word.lower() for word in distinct.to_list()}
    folded = set(words.values())
    if not (folded <= _YES | _NO and folded & _YES and folded & _NO):
        return None
    return words
