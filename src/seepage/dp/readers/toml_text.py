"""TOML: a section ``[dp]`` of one's own, for frameworks that are not known, and Flower's project file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from seepage._core import InputError, unknown_name
from seepage._core.errors import shown
from seepage.dp.said import Fact, Said, Source, Value

FORMAT = 1
MECHANISMS = ("gaussian", "laplace", "none")
# Each name of [dp] with the types it may have; words are the only values allowed.
NAMES: dict[str, tuple[type, ...] | tuple[str, ...]] = {
    "format": (int,),
    "mechanism": MECHANISMS,
    "unit": ("row", "client"),
    "noise": (int, float),
    "noise_multiplier": (int, float),
    "noise_divided_by": (int, float),
    "clip": (int, float),
    "clip_by": ("l1", "l2", "none"),
    "sensitivity": (int, float),
    "sampling": ("poisson", "shuffled", "all"),
    "added_by": ("client", "server"),
    "secure_aggregation": (bool,),
    "batch_norm": (bool,),
    "epsilon": (int, float),
    "epsilon_of": ("run", "round"),
}
FACTS = ("rows", "clients", "sampled", "rounds", "batch_size", "local_epochs", "delta", "parameters")
_DEFAULTS: dict[str, Value] = {
    "clip_by": "l2",
    "unit": "row",
    "sampling": "all",
    "added_by": "client",
    "secure_aggregation": False,
    "batch_norm": False,
    "epsilon_of": "run",
    "noise_divided_by": 1,
}


def read_dp(section: Any, file: str) -> Source:
    """The section ``[dp]``.

    Example:
        >>> read_dp({"mechanism": "gaussian", "noise_multiplier": 1.0, "clip": 1.0}, "dp.toml").said[0].kind
        'dp'
    """
    if not isinstance(section, dict):
        raise InputError(f"[dp] in {file} is {shown(section)}; it must be a section with names.")
    if section.get("format", FORMAT) != FORMAT:
        raise InputError(f"[dp] in {file} has format {shown(section['format'])}; only {FORMAT} is understood.")
    values: dict[str, Value] = dict(_DEFAULTS)
    facts = []
    for name, value in section.items():
        if name in FACTS:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"{name} in [dp] of {file} is {shown(value)}; it must be a number.")
            facts.append(Fact(name=name, value=value, place=f"{file}, [dp]"))
            continue
        if name not in NAMES:
            raise unknown_name(f"name in [dp] of {file}:", name, [*NAMES, *FACTS])
        values[name] = _value(name, value, file)
    if "mechanism" not in section:
        raise InputError(f"[dp] in {file} has no mechanism; there are: {', '.join(MECHANISMS)}.")
    if "noise" in section and "noise_multiplier" in section:
        raise InputError(f"[dp] in {file} has noise and noise_multiplier; say one of them.")
    said = Said(kind="dp", framework="dp", file=file, values=values, given=frozenset(section))
    return Source(file=file, said=(said,), facts=tuple(facts))


def _value(name: str, value: Any, file: str) -> Value:
    allowed = NAMES[name]
    words = tuple(each for each in allowed if isinstance(each, str))
    if words:
        if value not in words:
            raise unknown_name(f"{name} in [dp] of {file}:", str(value), words)
        return str(value)
    kinds = tuple(each for each in allowed if isinstance(each, type))
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        kind = "true or false" if kinds == (bool,) else "a number"
        raise InputError(f"{name} in [dp] of {file} is {shown(value)}; it must be {kind}.")
    return cast(Value, value)


def flower_config(document: Mapping[str, Any]) -> dict[str, object] | None:
    """``[tool.flwr.app.config]`` of a project file, flattened as Flower does; None if there is none.

    Example:
        >>> flower_config({"tool": {"flwr": {"app": {"config": {"num-server-rounds": 3, "dp": {"clip": 1.0}}}}}})
        {'num-server-rounds': 3, 'dp.clip': 1.0}
    """
    section: Any = document
    for name in ("tool", "flwr", "app", "config"):
        section = section.get(name) if isinstance(section, dict) else None
    if not isinstance(section, dict):
        return None
    found: dict[str, object] = {}
    for name, value in section.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            found[name] = value
    return found


_CALLED = {
    "num-server-rounds": "rounds",
    "num_server_rounds": "rounds",
    "num-rounds": "rounds",
    "local-epochs": "local_epochs",
    "batch-size": "batch_size",
}


def flower_facts(config: Mapping[str, object], file: str) -> tuple[Fact, ...]:
    """What Flower's project templates call rounds, epochs and batch size."""
    return tuple(
        Fact(name=_CALLED[name], value=value, place=f"{file}, [tool.flwr.app.config]")
        for name, value in config.items()
        if name in _CALLED and isinstance(value, int | float) and not isinstance(value, bool)
    )
