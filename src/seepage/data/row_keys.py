"""Who is a row? Keys of a party as texts, written in one way by all parties before they are compared.

The same rule serves salted hashes (:mod:`~seepage.federation.vertical.align`) and private set intersection
(:mod:`~seepage.federation.vertical.psi`). It is agreed beforehand: two parties with different rules find fewer people
than they share, and nothing tells them.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seepage._core import InputError

Case = Literal["keep", "fold"]
Spaces = Literal["ends", "single", "none"]
Duplicates = Literal["refuse", "first"]

_SHOWN = 5  # row numbers in an error message
_EXACT = 2**53  # from here on neighbouring whole numbers are the same float
_EMPTY_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed


@dataclass(frozen=True, kw_only=True)
class KeyFormat:
    """How keys are written before they are compared. All parties must use the same.

    Args:
        case: ``fold`` makes "Ann" and "ANN" equal, ``keep`` does not.
        spaces: ``ends`` drops white space around a key, ``single`` also makes every run of it one space, ``none``
            drops all of it.
        duplicates: ``refuse`` stops where a party has a key twice, ``first`` keeps the first of its rows.

    Example:
        >>> read_keys("bank", ["Ann  Lee", "ANN LEE"], form=KeyFormat(case="fold", spaces="single", duplicates="first"))
        Keys(texts=[b'ann lee'], rows=array([0]), total=2)
    """

    case: Case = "keep"
    spaces: Spaces = "ends"
    duplicates: Duplicates = "refuse"

    def write(self, text: str) -> str:
        """A text in the agreed way, in Unicode form NFC."""
        text = unicodedata.normalize("NFC", text)
        if self.case == "fold":
            text = unicodedata.normalize("NFC", text.casefold())  # folding may take a letter and its accent apart
        if self.spaces == "ends":
            return text.strip()
        return (" " if self.spaces == "single" else "").join(text.split())


AS_WRITTEN = KeyFormat()


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of one party, each once.

    Args:
        texts: the keys as bytes.
        rows: the row of the party's table that each belongs to.
        total: how many rows the table has.
    """

    texts: list[bytes]
    rows: np.ndarray
    total: int


def read_keys(party: str, *columns: Iterable[object], form: KeyFormat = AS_WRITTEN) -> Keys:
    """The keys of one party, in the order of its rows.

    Whole numbers are written in decimal digits (7, 7.0 and "7" are equal), texts as ``form`` says. Leading zeros are
    kept ("007" is not 7). None, NaN and blank text are missing keys, which is an error; errors never show a key.

    Args:
        party: its name, for errors.
        columns: what together says who a row is; each a list, array, or series of texts or whole numbers.
        form: how texts are written.

    Example:
        >>> read_keys("bank", [7, 8.0], [" a", "b"]).texts
        [b'1:71:a', b'1:81:b']
    """
    if not columns:
        raise InputError(f"{party!r} has no key column.")
    read = [_texts(party, column, form) for column in columns]
    if len({len(column) for column in read}) > 1:
        raise InputError(
            f"The key columns of {party!r} differ in length: {', '.join(str(len(each)) for each in read)}."
        )
    missing = [row for row, parts in enumerate(zip(*read, strict=True)) if not all(parts)]
    if missing:
        raise InputError(f"{party!r} has {len(missing)} row(s) without a key: {_rows(missing)}.")
    # With their lengths in front ("a", "bc") and ("ab", "c") stay two people.
    texts = read[0] if len(read) == 1 else [b"".join(map(_measured, parts)) for parts in zip(*read, strict=True)]
    return _each_once(party, texts, form)


def _each_once(party: str, texts: list[bytes], form: KeyFormat) -> Keys:
    first: dict[bytes, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(text, row)
    if len(first) < len(texts) and form.duplicates == "refuse":
        twice = {text for row, text in enumerate(texts) if first[text] != row}
        found = [row for row, text in enumerate(texts) if text in twice]
        raise InputError(f"{party!r} has {len(found)} rows whose key occurs more than once: {_rows(found)}.")
    return Keys([*first], np.fromiter(first.values(), dtype=np.int64, count=len(first)), len(texts))


def _measured(part: bytes) -> bytes:
    return b"%d:%s" % (len(part), part)


def _texts(party: str, column: Iterable[object], form: KeyFormat) -> list[bytes]:
    if isinstance(column, str | bytes) or getattr(column, "ndim", 1) != 1:
        raise InputError(f"The keys of {party!r} are not one column; give one key per row.")
    texts = (_text(party, row, key, form) for row, key in enumerate(column))
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def _text(party: str, row: int, key: object, form: KeyFormat) -> str:
    """A key as text; empty for a missing one. Errors name its type, never its value."""
    if isinstance(key, str):
        return form.write(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(int(key))
    if key is None or type(key).__name__ in _EMPTY_TYPES:
        return ""
    if isinstance(key, float | np.floating):
        number = float(key)
        if math.isnan(number):
            return ""
        if number.is_integer() and abs(number) < _EXACT:
            return str(int(number))
        raise InputError(f"The key in row {row} of {party!r} is a number that is not whole, or too large to be exact.")
    raise InputError(f"The key in row {row} of {party!r} is a {type(key).__name__}; give texts or whole numbers.")


def _rows(numbers: Sequence[int]) -> str:
    more = ", ..." if len(numbers) > _SHOWN else ""
    return f"rows {', '.join(map(str, numbers[:_SHOWN]))}{more} (counted from 0)"
