"""TOML that people write: read from a file, or from text, with one sentence for what cannot be."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from seepage._core import InputError


def read_text(path: Path, what: str) -> str:
    """The text of a file that should be a ``what`` file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"There is no {what} file {path}.") from None
    except IsADirectoryError:
        raise InputError(f"The {what} file {path} cannot be read: it is a folder.") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"The {what} file {path} cannot be read: {reason}.") from None
    except ValueError:  # of the name of the file, or of its text
        raise InputError(f"{path} is not a {what} file: it is not UTF-8 text.") from None


def document_of(text: str, where: str) -> dict[str, Any]:
    """The document; ``where`` names it in error messages."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{where} is nested too deep.") from None
    except ValueError as error:  # not TOML, or a number of thousands of digits
        raise InputError(f"{where} is not valid TOML: {error}.") from None
