"""Names that become folders and receivers of messages: plain words."""

from __future__ import annotations

import re

from seepage._core.errors import InputError

HOST = "host"  # the party that has the labels; no guest can be called so
NAME = re.compile(r"\w[\w-]{0,63}")


def party_name(name: str) -> str:
    """A party's name, or one sentence why it cannot be.

    Example:
        >>> party_name("hospital-2")
        'hospital-2'
    """
    if not NAME.fullmatch(name):
        raise InputError(f"The party's name is {name!r}; it may have letters, digits, _ and -, at most 64 of them.")
    if name.lower() == HOST:
        raise InputError(f"No party can be called {name!r}: that is whoever has the target; choose another name.")
    return name
