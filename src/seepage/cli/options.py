"""Options that hold several values in one word."""

from __future__ import annotations

from seepage._core import InputError


def names(text: str | None) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def integers(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers between commas."""
    try:
        return tuple(int(part) for part in names(text)) or (int(text),)
    except ValueError:
        raise InputError(f"{option} is {text!r}; it takes whole numbers, with commas between them.") from None


def options(option: str, entries: list[str] | None) -> dict[str, str]:
    """Pairs of ``name=value``."""
    pairs = [entry.partition("=") for entry in entries or []]
    for entry, equals, _ in pairs:
        if not equals:
            raise InputError(f"{option} {entry!r} is not of the form name=value.")
    return {name.strip(): value.strip() for name, _, value in pairs}
