"""Inputs for readers from bytes: the bytes themselves, or a good document that they bend somewhere.

Bytes that a fuzzer makes rarely are JSON, and never are a summary; a summary with one wrong value in it gets past the
first check. The same bytes always make the same input, so that one that was found can be kept.
"""

from __future__ import annotations

import copy
import datetime
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tomli_w

DEEP = 3000
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**400, 0.5, -0.0, 1e308, -1e308, 1e-320,
    math.nan, math.inf, -math.inf, "", " ", "a", "0", "-1", "nan", "\0", "\n", "\u202e", "x" * 300, "é", "../../x",
    "/etc/hostname", "=1+1", "mlp:depth=-1", "none", "rows", "all", [], {}, [[]], [{}], [None], {"": None}, {"a": 1},
    ["a", "a"], list(range(50)), [1e308, -1e308],
)  # fmt: skip
TOML_ODD: tuple[Any, ...] = (
    *(each for each in ODD if each is not None and each != [None] and each != {"": None}),
    datetime.date(2026, 1, 1), datetime.time(1, 2), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
)  # fmt: skip


@dataclass
class Choices:
    """Numbers from bytes, in turn; zeros when they are used up."""

    content: bytes
    at: int = 0

    def below(self, most: int) -> int:
        """A number from 0 up to below ``most``."""
        taken = self.content[self.at : self.at + 2]
        self.at += 2
        return int.from_bytes(taken, "little") % max(1, most)

    def rest(self) -> bytes:
        return self.content[self.at :]

    def text(self) -> str:
        return self.rest()[:40].decode("utf-8", "replace")


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a document: what holds it, and its key."""
    keys = list(document) if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in keys:
        yield document, key
        yield from _places(document[key])


def bent(document: Any, choices: Choices, odd: tuple[Any, ...] = ODD) -> Any:
    """A copy of a document with up to three of its values replaced, removed, renamed, doubled or buried."""
    document = copy.deepcopy(document)
    for _ in range(1 + choices.below(3)):
        every = list(_places(document))
        if not every:
            return document
        holder, key = every[choices.below(len(every))]
        match choices.below(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[choices.text() or "x"] = holder.pop(key)
            case 2 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 3:
                holder[key] = [holder[key]]
            case 4:
                holder[key] = choices.text()
            case 5:
                other, place = every[choices.below(len(every))]
                holder[key] = copy.deepcopy(other[place]) if place in other or isinstance(place, int) else None
            case _:
                holder[key] = copy.deepcopy(odd[choices.below(len(odd))])
    return document


def as_json(document: Any, content: bytes) -> bytes:
    """A JSON text: of a bent document, bytes as they are, or brackets in brackets."""
    choices = Choices(content[1:])
    match content[:1]:
        case b"\x00":
            return content[1:]
        case b"\x01":
            return b"[" * DEEP + content[1:]
        case _:
            return json.dumps(bent(document, choices)).encode()


def as_toml(document: dict[str, Any], content: bytes) -> bytes:
    """A TOML text: of a bent document, bytes as they are, or brackets in brackets."""
    choices = Choices(content[1:])
    match content[:1]:
        case b"\x00":
            return content[1:]
        case b"\x01":
            return b"x = " + b"[" * DEEP + content[1:]
        case _:
            changed = bent(document, choices, TOML_ODD)
            try:
                return tomli_w.dumps(changed).encode()
            except (TypeError, ValueError, AttributeError, RecursionError):  # TOML cannot say that
                return content[1:]


def bent_bytes(good: bytes, content: bytes) -> bytes:
    """A good file with a few bytes changed, cut out or put in."""
    choices = Choices(content[1:])
    if content[:1] == b"\x00":
        return content[1:]
    found = bytearray(good)
    for _ in range(1 + choices.below(6)):
        at = choices.below(len(found) + 1)
        match choices.below(5):
            case 0:
                del found[at : at + 1 + choices.below(64)]
            case 1:
                found[at:at] = choices.rest()[:8]
            case 2:
                del found[at:]
            case 3:
                found[at : at + 1] = bytes([choices.below(256)])
            case _:
                found[at : at + 1] = bytes([(found[at] if at < len(found) else 0) ^ (1 << choices.below(8))])
    return bytes(found)
