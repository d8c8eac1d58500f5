"""Plans: an audit in a TOML file, with the same keys as the Python API, and grids over any of them.

.. code-block:: toml

    data = "adult"
    models = ["mlp", "resnet"]        # every combination of models, defences, batch sizes and attacks is tested
    batch_sizes = [1, 8, 32]

    [grid]                            # and every combination of these beside them
    labels_known = [true, false]
    seed = [0, 1]

    [[cases]]                         # with each of these
    name = "one local epoch"
    protocol = "fedavg"
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from seepage._core import InputError, unknown_name
from seepage.studies.findings import Choice
from seepage.studies.rows.running import choices_of
from seepage.studies.rows.settings import SEVERAL, Settings, make_settings
from seepage.data.source import Request
from seepage.data import as_frame

ABOUT = {field.name for field in fields(Request)}
KEYS = (*(field.name for field in fields(Request)), *Settings.model_fields)
MANY = ("grid", "cases")
_TYPES = get_type_hints(Request) | {"task": str | None}  # a wrong task is told with the nearest one
_COORDINATES = {"data", "protocol", *SEVERAL, *SEVERAL.values(), "attack_points"}  # a cell says these itself


@dataclass(frozen=True)
class Variant:
    """One table with one setting of everything that is not a coordinate of a cell. ``name`` says how it differs."""

    name: str
    request: Request
    settings: Settings


@dataclass(frozen=True)
class Task:
    """What is trained once and attacked many times; what workers are given. ``place`` is the variant's in its plan."""

    variant: Variant
    choice: Choice
    place: int = 0

    @property
    def id(self) -> str:
        """A short stable name, from everything that can change a number of it."""
        settings = self.variant.settings.model_dump(mode="json", exclude={"models", "defenses", "batch_sizes"})
        text = json.dumps([facts(self.variant.request), settings, vars(self.choice), self.variant.name], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Plan:
    """Everything an audit is to test."""

    variants: tuple[Variant, ...]

    @property
    def tasks(self) -> list[Task]:
        """What is to be trained, in the order of the plan."""
        return [
            Task(variant, choice, place)
            for place, variant in enumerate(self.variants)
            for choice in choices_of(variant.settings)
        ]

    @property
    def fingerprint(self) -> str:
        """Equal for equal plans."""
        return hashlib.blake2b("".join(task.id for task in self.tasks).encode(), digest_size=8).hexdigest()


def read_plan(path: str | Path) -> dict[str, Any]:
    """The values of a plan, as :func:`seepage.audit` takes them; a mistake is one sentence.

    Every key is one of :class:`Request` or :class:`Settings`, or ``grid`` (lists of values of such keys) or ``cases``
    (tables of such keys). A path is taken from the folder in which the audit is started, as on the command line.

    Example:
        >>> values = read_plan("reproductions/tableak/noise.toml")  # doctest: +SKIP
        >>> seepage.audit(**values)  # doctest: +SKIP
    """
    values = _renamed(_parsed(Path(path)), f"the plan {path}")
    for key in values:
        if key not in (*KEYS, *MANY):
            raise unknown_name(f"key in the plan {path}:", key, (*KEYS, *MANY))
    make_plan({"data": None} | values)  # told now, before anything beside the plan can hide it
    return values


def make_plan(values: Mapping[str, Any]) -> Plan:
    """The plan that these values make; everything is checked that can be without the tables."""
    plain = {key: value for key, value in values.items() if key not in MANY}
    variants: list[Variant] = []
    cells: set[tuple[Any, ...]] = set()
    for name, changes in _changes(_grid(values.get("grid") or {}), _cases(values.get("cases") or [])):
        merged = {key: value for key, value in plain.items() if SEVERAL.get(key, key) not in changes} | changes
        variant = Variant(name, *prepare(merged))
        data = variant.request.data
        table = str(data) if isinstance(data, str | Path) else "a table"  # frames are told apart by the names of cases
        settings = variant.settings
        own = {
            (name, table, settings.protocol, *vars(choice).values(), attack, point)
            for choice in choices_of(settings)
            for attack in settings.attacks
            for point in settings.attack_points
        }
        if common := sorted(own & cells, key=str):
            where = ", ".join(str(part) for part in common[0][1:] if part)
            raise InputError(f"Two parts of the plan test the same thing ({where}).")
        cells |= own
        variants.append(variant)
    return Plan(tuple(variants))


def _grid(grid: Any) -> dict[str, list[Any]]:
    if not isinstance(grid, Mapping):
        raise InputError("The plan's 'grid' is a table: keys with lists of values.")
    checked: dict[str, list[Any]] = {}
    for key, listed in grid.items():
        if key not in (*KEYS, *SEVERAL):
            raise unknown_name("key in the plan's grid:", key, (*KEYS, *SEVERAL))
        if not isinstance(listed, list | tuple) or not listed:
            raise InputError(f"{key!r} in the plan's grid is {listed!r}; it must be a list of values.")
        checked[str(key)] = list(listed)
    return _renamed(checked, "the plan's grid")


def _cases(cases: Any) -> list[dict[str, Any]]:
    if not isinstance(cases, Sequence) or not all(isinstance(case, Mapping) for case in cases):
        raise InputError("The plan's 'cases' are tables: [[cases]] with keys below.")
    for case in cases:
        for key in case:
            if key not in (*KEYS, *SEVERAL, "name"):
                raise unknown_name("key in the plan's cases:", key, (*KEYS, *SEVERAL, "name"))
    return [_renamed(case, "a case of the plan") for case in cases]


def _renamed(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Keys in one way of writing: one model is a list of one."""
    for one, several in SEVERAL.items():
        if one in values and several in values:
            raise InputError(f"There are {one!r} and {several!r} in {where}; say one of them.")
    return {SEVERAL.get(key, key): value for key, value in values.items()}


def with_typed(values: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """A plan's values with others that go before them, also before its grid and its cases."""
    names = {*typed, *(one for one, several in SEVERAL.items() if several in typed)}
    grid = {key: value for key, value in (values.get("grid") or {}).items() if key not in names}
    cases = [{key: value for key, value in case.items() if key not in names} for case in values.get("cases") or []]
    rest = {key: value for key, value in values.items() if key not in MANY}
    return rest | dict(typed) | ({"grid": grid} if grid else {}) | ({"cases": cases} if cases else {})


def _changes(grid: dict[str, list[Any]], cases: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Every combination, with a name made of what a cell does not say itself."""
    found = []
    for case in cases or [{}]:
        for values in itertools.product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            changes = {key: value for key, value in case.items() if key != "name"} | chosen
            said = [str(case["name"])] if "name" in case else [_said(k, v) for k, v in case.items() if _unsaid(k)]
            said += [_said(key, value) for key, value in chosen.items() if _unsaid(key)]
            found.append((", ".join(said), changes))
    return found


def _unsaid(key: str) -> bool:
    return key not in _COORDINATES and key != "name"


def _said(key: str, value: Any) -> str:
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"


def prepare(values: Mapping[str, Any]) -> tuple[Request, Settings]:
    """The request and the settings that these values make; everything is checked."""
    about = {name: _checked(name, value) for name, value in values.items() if name in ABOUT}
    settings = make_settings(**{name: value for name, value in values.items() if name not in ABOUT})
    return Request(**about), settings


def facts(request: Request) -> dict[str, Any]:
    """A request as it is written down: equal for equal tables, however they were given."""
    return {name: _canonical(getattr(request, name)) for name in sorted(ABOUT)}


def _canonical(value: Any) -> Any:
    """A value of a request as it is written down; a frame by its content."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_canonical(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    frame = as_frame(value)
    return {"columns": frame.columns, "rows": frame.height, "hash": str(frame.hash_rows(seed=0).sum())}


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no plan {path}.") from None
    except OSError as error:
        raise InputError(f"The plan {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The plan {path} is not valid TOML: {error}.") from None


def _checked(name: str, value: Any) -> Any:
    """A value about the table, in its type; one column where several are allowed is fine."""
    if name in ("drop", "sensitive") and isinstance(value, str):
        value = (value,)
    if name in ("schema", "path"):
        value = value or None
    try:
        return TypeAdapter(_TYPES[name]).validate_python(value)
    except ValidationError as error:
        raise InputError(f"{name!r} is {value!r}: {error.errors()[0]['msg']}.") from None
