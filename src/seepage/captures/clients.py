"""Names of clients in a capture: hashes, so that a capture that is passed on names nobody."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from seepage._core import InputError
from seepage._core.errors import shown
from seepage._core.files import write_atomically

LONGEST = 1000  # characters of a name
LONGEST_SALT = 4096  # bytes
_HASHED = re.compile(r"client-[0-9a-f]{16}")
_SALT = secrets.token_bytes(32)  # of this process: it is kept nowhere


def pseudonym(name: str, salt: bytes | None = None) -> str:
    """A client's name as a capture holds it.

    The salt is never stored. Without one, names are hashed with a salt of this process: a training loop gives one
    client one hash, and nobody can find out later whose it is. A name that is such a hash already stays as it is.

    Example:
        >>> pseudonym("hospital-a") == pseudonym("hospital-a") != pseudonym("hospital-b")
        True
        >>> pseudonym("client-0123456789abcdef")
        'client-0123456789abcdef'
    """
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST:
        raise InputError(f"The client's name is {shown(name)}; it must be a text of 1 to {LONGEST} characters.")
    if is_pseudonym(name):
        return name
    keyed = hmac.new(_SALT if salt is None else salt, name.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return f"client-{keyed.hexdigest()[:16]}"


def is_pseudonym(name: object) -> bool:
    """Whether a name is a hash already."""
    return isinstance(name, str) and _HASHED.fullmatch(name) is not None


def read_salt(file: Path) -> bytes:
    """A salt that somebody keeps in a file of theirs, apart from any capture."""
    try:
        with file.open("rb") as stream:
            found = stream.read(LONGEST_SALT + 1)
    except OSError as error:
        raise InputError(f"The salt {file} cannot be read: {error.strerror}.") from None
    if not 8 <= len(found) <= LONGEST_SALT:
        raise InputError(f"The salt {file} must have 8 to {LONGEST_SALT:,} bytes.")
    return found


def kept_salt(file: Path) -> bytes:
    """The same, drawn when it is first asked for."""
    if not file.exists():
        write_atomically(file, secrets.token_bytes(32))
    return read_salt(file)
