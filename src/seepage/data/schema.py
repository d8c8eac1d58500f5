"""What a table is made of: its columns, its target, and what was left out.

A schema is inferred (:mod:`seepage.data.infer`), written to TOML, edited by hand and given back. It holds
what a
server of a federation knows anyway: names, types, categories and ranges. It holds no row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import tomli_w

from seepage._core import InputError, unknown_name
from seepage._core.errors import shown
from seepage._core.files import write_new
from seepage.data.request import WORDS
from seepage.data.toml_files import document_of, read_text

Kind = Literal["numeric", "categorical", "binary"]
LearningTask = Literal["binary", "multiclass", "regression"]

LARGEST = 1e30  # of a number: its square must fit into a float, also where numbers are not scaled
MISSING = "__missing__"  # the category that stands for an empty cell
UNKNOWN = "__unknown__"  # how a category unseen in training is shown; it is never part of a schema


@dataclass(frozen=True, kw_only=True)
class Column:
    """One input column.

    Args:
        name: the column's name.
        kind: ``numeric``, ``categorical`` or ``binary`` (a categorical column of two values).
        integer: numeric only; every value is a whole number.
        low, high: numeric only; the range.
        fill: numeric only; what an empty cell becomes.
        categories: the allowed values in the order of their codes; ``MISSING`` is one of them if cells are
            empty.
        sensitive: marked by the user; the report names these columns first.
        read_as: how its cells are to be read, where a plain reader would read them otherwise (``as`` in the file).
    """

    name: str
    kind: Kind
    integer: bool = False
    low: float = 0.0
    high: float = 0.0
    fill: float = 0.0
    categories: tuple[str, ...] = ()
    sensitive: bool = False
    # A table's digest is made of what is shown of its columns; how they were written is no part of it.
    read_as: str = field(default="", repr=False, compare=False)

    @property
    def is_numeric(self) -> bool:
        return self.kind == "numeric"


@dataclass(frozen=True, kw_only=True)
class Target:
    """The column to predict. ``classes`` are in the order of their codes; the last of two is the positive
    one.
    """

    name: str
    task: LearningTask
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """A column that is not used, and why."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Columns, target and what was dropped. Numeric columns and categorical ones keep their order in the
    file.
    """

    columns: tuple[Column, ...]
    target: Target
    dropped: tuple[Dropped, ...] = field(default=())

    @property
    def numeric(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.is_numeric)

    @property
    def categorical(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if not column.is_numeric)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_name("column", name, self.names)

    def with_sensitive(self, names: tuple[str, ...]) -> Schema:
        """The same schema with these columns (and the ones already so) marked sensitive."""
        for name in names:
            self.column(name)
        columns = tuple(replace(c, sensitive=c.sensitive or c.name in names) for c in self.columns)
        return replace(self, columns=columns)

    def to_toml(self) -> str:
        """The schema as TOML text that a person can edit."""
        target = {"name": self.target.name, "task": self.target.task}
        document: dict[str, Any] = {"target": target | _classes(self.target)}
        document["columns"] = [_column_to_dict(column) for column in self.columns]
        document["dropped"] = [{"name": d.name, "reason": d.reason} for d in self.dropped]
        return tomli_w.dumps(document)

    def write(self, path: Path) -> None:
        """Write the schema to a TOML file; an existing file is not overwritten."""
        write_new(path, self.to_toml())

    @staticmethod
    def read(path: Path) -> Schema:
        """Read a schema from a TOML file."""
        return Schema.from_toml(read_text(path, "schema"), str(path))

    @staticmethod
    def from_toml(text: str, where: str = "schema") -> Schema:
        """Read a schema from TOML text. ``where`` names it in error messages."""
        document = document_of(text, where)
        for key in document:
            if key not in ("target", "columns", "dropped"):
                raise unknown_name(f"key in {where}", key, ("target", "columns", "dropped"))
        if "target" not in document or not document.get("columns"):
            raise InputError(f"{where} needs a [target] table and at least one [[columns]] entry.")
        for key in ("columns", "dropped"):
            if not isinstance(document.get(key, []), list):
                raise InputError(f"{key!r} in {where} must be a list of tables, written [[{key}]].")
        columns = tuple(_column_from_dict(entry, where) for entry in document["columns"])
        target = _target_from_dict(document["target"], where)
        dropped = tuple(_dropped_from_dict(entry, where) for entry in document.get("dropped", ()))
        names = [target.name, *(column.name for column in columns)]
        for name, times in Counter(names).items():
            if times > 1:
                raise InputError(f"{where} lists the column {name!r} more than once.")
        return Schema(columns=columns, target=target, dropped=dropped)


def _classes(target: Target) -> dict[str, list[str]]:
    return {"classes": list(target.classes)} if target.classes else {}


def _column_to_dict(column: Column) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.is_numeric:
        entry |= {"integer": column.integer, "low": column.low, "high": column.high, "fill": column.fill}
    else:
        entry["categories"] = list(column.categories)
    if column.sensitive:
        entry["sensitive"] = True
    if column.read_as:
        entry["as"] = column.read_as
    return entry


_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,), "kind": (str,), "task": (str,), "reason": (str,), "integer": (bool,), "sensitive": (bool,),
    "low": (int, float), "high": (int, float), "fill": (int, float), "categories": (list,), "classes": (list,),
    "as": (str,),
}  # fmt: skip
_COLUMN_KEYS = ("name", "kind", "integer", "low", "high", "fill", "categories", "sensitive", "as")


def _checked(entry: Any, keys: tuple[str, ...], where: str) -> dict[str, Any]:
    """The entry, if it is a table of these keys with values of the right types."""
    if not isinstance(entry, dict):
        raise InputError(f"An entry in {where} is not a table of keys and values.")
    for key, value in entry.items():
        if key not in keys:
            raise unknown_name(f"key in {where}", key, keys)
        number = float in _TYPES[key]
        fits = isinstance(value, _TYPES[key]) and not (number and isinstance(value, bool))
        if not fits or (number and not abs(value) <= LARGEST):
            kind = f"number, at most {LARGEST:g}" if number else _TYPES[key][0].__name__
            raise InputError(f"In {where}, {key} = {shown(value)} is not a {kind}.")
    if "name" not in entry:
        raise InputError(f"An entry in {where} has no name.")
    return entry


def _target_from_dict(entry: Any, where: str) -> Target:
    values = _checked(entry, ("name", "task", "classes"), f"[target] of {where}")
    task: Any = values.get("task")
    classes = tuple(str(c) for c in values.get("classes", ()))
    if task not in get_args(LearningTask):
        raise unknown_name(f"task in {where}", str(task), get_args(LearningTask))
    wanted = {"regression": "no classes", "binary": "two different classes", "multiclass": "two or more classes"}[task]
    fits = {"regression": not classes, "binary": len(classes) == 2, "multiclass": len(classes) >= 2}[task]
    if not fits or len(set(classes)) != len(classes):
        raise InputError(f"[target] of {where} is {task}, so it needs {wanted}; it lists {len(classes)}.")
    return Target(name=values["name"], task=task, classes=classes)


def _dropped_from_dict(entry: Any, where: str) -> Dropped:
    values = _checked(entry, ("name", "reason"), f"[[dropped]] of {where}")
    return Dropped(name=values["name"], reason=values.get("reason", "dropped by the user"))


def _column_from_dict(entry: Any, where: str) -> Column:
    values = dict(_checked(entry, _COLUMN_KEYS, f"[[columns]] of {where}"))
    if values.get("kind") not in get_args(Kind):
        raise unknown_name(f"kind of column {values['name']!r} in {where}", str(values.get("kind")), get_args(Kind))
    values["categories"] = tuple(str(c) for c in values.get("categories", ()))
    values["read_as"] = values.pop("as", "")
    words = [word for word in WORDS if word != "leave_out"]  # that is what [[dropped]] is for
    if values["read_as"] and values["read_as"] not in words:
        raise unknown_name(f"reading of column {values['name']!r} in {where}", values["read_as"], words)
    column = Column(**values)
    if column.is_numeric:
        if column.low > column.high:
            raise InputError(f"Column {column.name!r} in {where}: low {column.low} is above high {column.high}.")
        return replace(column, low=float(column.low), high=float(column.high), fill=float(column.fill))
    if len(set(column.categories)) != len(column.categories) or not column.categories:
        raise InputError(f"Column {column.name!r} in {where} needs a list of different categories.")
    if column.kind == "binary" and len(column.categories) != 2:
        raise InputError(
            f"Column {column.name!r} in {where} is binary but has {len(column.categories)} categories; "
            "call it categorical."
        )
    return column
