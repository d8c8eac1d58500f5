"""NVFlare's JSON: filters of a job (``config_fed_client.json``) or of a site (``privacy.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from seepage._core import InputError, unknown_name
from seepage._core.errors import shown
from seepage.dp.readers.signatures import SIGNATURES
from seepage.dp.said import Fact, Said, Source, Unclear, Value

FORMAT = 2  # of NVFlare's configurations
DEEP = 60


def read_json(text: str, file: str) -> Source:
    """What an NVFlare configuration says of privacy.

    Example:
        >>> text = '{"filters": [{"path": "nvflare.filters.svt_privacy.SVTPrivacy", "args": {"epsilon": 1}}]}'
        >>> read_json(text, "config_fed_client.json").said[0].values["epsilon"]
        1
    """
    try:
        document = json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, file))
    except RecursionError:
        raise InputError(f"{file} is nested too deep.") from None
    except ValueError as error:
        raise InputError(f"{file} is not valid JSON: {error}.") from None
    if not isinstance(document, dict):
        raise InputError(f"{file} is not a configuration of NVFlare: it is not an object with names.")
    version = document.get("format_version", FORMAT)
    if version != FORMAT or isinstance(version, bool):
        raise InputError(f"{file} has format_version {shown(version)}; only {FORMAT} is understood.")
    said = tuple(_filter(name, entry, file) for name, entry in _entries(document, 0))
    return Source(file=file, said=said, facts=tuple(_rounds(document, file)))


def _once(pairs: list[tuple[str, Any]], file: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise InputError(f"{file} says {shown(name)} twice, with different values.")
        found[name] = value
    return found


def _entries(node: Any, deep: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Components that are filters we know, wherever they stand."""
    if deep > DEEP:
        return
    if isinstance(node, dict):
        named = node.get("path", node.get("class_path", node.get("name")))
        kind = named.rpartition(".")[2] if isinstance(named, str) else ""
        if kind in SIGNATURES:
            yield kind, node
        for each in node.values():
            yield from _entries(each, deep + 1)
    elif isinstance(node, list):
        for each in node:
            yield from _entries(each, deep + 1)


def _filter(kind: str, entry: dict[str, Any], file: str) -> Said:
    signature = SIGNATURES[kind]
    given = entry.get("args", entry.get("config_args", {}))
    if not isinstance(given, dict):
        raise InputError(f"The args of {kind} in {file} are {shown(given)}; they must be names with values.")
    values: dict[str, Value] = {}
    unclear: dict[str, Unclear] = {}
    for name, value in given.items():
        if name not in signature.arguments and not signature.swallows:
            raise unknown_name(f"argument of {kind} in {file}:", name, signature.arguments)
        if name in signature.objects:
            values[name] = "given"
        elif isinstance(value, str) and "{" in value:
            unclear[name] = Unclear(text=value[:80], line=0, why="it is filled in when the job is submitted")
        elif value is None or isinstance(value, int | float | str | bool):
            values[name] = value
    for name, default in signature.arguments.items():
        if name not in given:
            values[name] = default  # type: ignore[assignment]  # no filter has an argument without a default
    return Said(
        kind=kind, framework=signature.framework, file=file, values=values, unclear=unclear, given=frozenset(given)
    )


def _rounds(node: Any, file: str, deep: int = 0) -> Iterator[Fact]:
    if deep > DEEP or not isinstance(node, dict | list):
        return
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        if name == "num_rounds" and isinstance(value, int) and not isinstance(value, bool):
            yield Fact(name="rounds", value=value, place=file)
        yield from _rounds(value, file, deep + 1)
