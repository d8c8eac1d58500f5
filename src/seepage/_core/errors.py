"""What can go wrong, and whose fault it is.

    SeepageError            everything raised on purpose
    └── InputError          the user's input; one clear sentence, exit code 2
        ├── FetchError      a data set could not be had; says the other ways
        ├── NotApplicable   an attack says that it does not apply to this set-up
        ├── NotWritten      a file could not be written; what is finished is kept
        │   └── DiskFull    there is no room
        └── RunStopped      workers are gone, or are not what they should be; what is finished is kept

Anything else is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SeepageError(Exception):
    """Base of every error Seepage raises on purpose.

    Example:
        >>> issubclass(InputError, SeepageError)
        True
    """


class InputError(SeepageError):
    """The input is wrong. The message says what was found, what is allowed, and what to do.

    Example:
        >>> import seepage
        >>> seepage.audit("adlut")
        Traceback (most recent call last):
        ...
        seepage._core.errors.InputError: There is no file and no data set named 'adlut'; ... Did you mean 'adult'?
    """


class FetchError(InputError):
    """A data set could not be fetched, or what came is not what was promised."""


class NotApplicable(InputError):
    """An attack says that it does not apply to this set-up. It is no failure, and no evidence of privacy."""


class NotWritten(InputError):
    """A file could not be written. What was finished before is kept, and the work can go on when the disk is well."""


class DiskFull(NotWritten):
    """The disk is full. What was finished before is kept, and the work can go on when there is room."""


class RunStopped(InputError):
    """A run cannot go on with its workers: they are gone, or hold other versions or another table. What was finished
    before is kept, and the run can go on later."""


LONGEST = 80  # characters of a value that is shown


def shown(value: object) -> str:
    """A value as it was given; of a very long one the beginning.

    Example:
        >>> shown("a" * 5000)
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (5,002 characters)"
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, or lists in lists in lists
        return "something too long to be shown"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """The allowed name most like ``name``, or None when nothing is close.

    Example:
        >>> nearest("resnt", ["mlp", "resnet"])
        'resnet'
    """
    options = {option.lower(): option for option in allowed}
    found = difflib.get_close_matches(name.lower(), list(options), n=1, cutoff=0.5)
    return options[found[0]] if found else None


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not in a catalogue: what is allowed, and the nearest."""
    names = list(allowed)
    guess = nearest(name, names)
    hint = f" Did you mean {guess!r}?" if guess else ""
    return InputError(f"Unknown {kind} {name!r}; there are: {', '.join(names)}.{hint}")
