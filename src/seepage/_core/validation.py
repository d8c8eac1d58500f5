"""What pydantic found wrong, as one sentence for a user."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from seepage._core.errors import shown


def sentence(error: ValidationError) -> str:
    """What pydantic found, as a user should read it."""
    every = error.errors()
    first = every[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    # A setting of several types is told by all of them: a whole number, or the word "all".
    allowed = dict.fromkeys(_wrong(each) for each in every if each["loc"][:1] == first["loc"][:1])
    return f"Setting {name!r} is {shown(first['input'])}: {' or '.join(allowed)}."


_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_KINDS = {"int": "must be a whole number", "float": "must be a number", "bool": "must be true or false"}


def _wrong(detail: ErrorDetails) -> str:
    """What is wrong with one value."""
    context = detail.get("ctx", {})
    for key, words in _BOUNDS.items():
        if key in context:
            bound = context[key]
            return f"must be {words} {f'{bound:,}' if isinstance(bound, int) else f'{bound:g}'}"
    for kind, words in _KINDS.items():
        if detail["type"] in (f"{kind}_parsing", f"{kind}_type", f"{kind}_from_float"):
            return words
    if detail["type"] == "literal_error":
        return f"must be {context['expected']}"
    return detail["msg"].removeprefix("Value error, ")
