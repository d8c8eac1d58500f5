"""A property's text, read as a syntax tree of a few allowed forms. It is never run."""

from __future__ import annotations

import ast
import math
import re
import warnings
from dataclasses import dataclass

import numpy as np

from seepage._core import InputError, unknown_name
from seepage.data.conditions import COMPARE, CategoryTest, Condition, Every, Mean, NumberTest, Opposite, Some
from seepage.data.schema import MISSING, Schema
from seepage.data.table import UNKNOWN_CODE

LONGEST = 1000  # characters; nobody writes more, and the reader calls itself for every bracket
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FORMS = (
    "column names (in backticks unless they are one plain word), numbers, quoted categories, ==, !=, <, <=, >, >=, in, "
    "and, or, not, brackets, or else mean(column)"
)
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`([^`]*)`""")


def read(text: str, schema: Schema) -> Condition | Mean:
    """What a text says about tables with this schema; the target is a column too (class balance)."""
    if len(text) > LONGEST:
        raise InputError(f"The property has {len(text)} characters; at most {LONGEST} are read.")
    names: list[str] = []

    def stand_in(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]  # a quoted category
        names.append(match[1])
        return f"__column{len(names) - 1}__"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's advice on escapes is not for the reader of a property
        try:
            tree = ast.parse(_QUOTED.sub(stand_in, text).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"The property {text!r} cannot be read; it may hold {_FORMS}.") from None
    return _Reader(text, schema, tuple(names)).measured(tree)


@dataclass(frozen=True)
class _Reader:
    """Turns a syntax tree into a condition, or says which part it cannot read."""

    text: str
    schema: Schema
    quoted: tuple[str, ...]  # names that stood in backticks

    def measured(self, node: ast.expr) -> Condition | Mean:
        match node:
            case ast.Call(func=ast.Name(id="mean"), args=[ast.Name(id=name)], keywords=[]):
                column = self.column(name)
                if self.categories(column) is not None:
                    raise InputError(f"Column {column!r} holds categories, which have no mean; name a numeric column.")
                return Mean(column)
            case _:
                return self.condition(node)

    def condition(self, node: ast.expr) -> Condition:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return Every(tuple(self.condition(value) for value in values))
            case ast.BoolOp(op=ast.Or(), values=values):
                return Some(tuple(self.condition(value) for value in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Opposite(self.condition(operand))
            case ast.Compare(left=left, ops=signs, comparators=right):
                sides = [left, *right]
                parts = [self.test(sides[i], _SIGNS.get(type(sign)), sides[i + 1]) for i, sign in enumerate(signs)]
                return parts[0] if len(parts) == 1 else Every(tuple(parts))
            case _:
                raise self.unreadable(node)

    def test(self, left: ast.expr, sign: str | None, right: ast.expr) -> Condition:
        if not isinstance(left, ast.Name) and isinstance(right, ast.Name) and sign in _TURNED:
            left, right, sign = right, left, _TURNED[sign]
        if not isinstance(left, ast.Name):
            raise self.unreadable(left)
        if sign is None:
            raise self.unreadable(right)
        name = self.column(left.id)
        listed = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else None
        if ("in" in sign) != (listed is not None):
            raise InputError(f"In the property {self.text!r} a list such as ('a', 'b') goes with 'in', and only there.")
        values = [self.constant(value) for value in ([right] if listed is None else listed)]
        categories = self.categories(name)
        if categories is not None:
            return CategoryTest(name, _matching(name, categories, sign, values))
        for value in values:
            if isinstance(value, str):
                raise InputError(f"Column {name!r} holds numbers; compare it with a number, not with {value!r}.")
        return NumberTest(name, sign, tuple(float(value) for value in values))

    def constant(self, node: ast.expr) -> str | float:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                value = -value
            case ast.Constant(value=str() | int() | float() as value):
                pass
            case _:
                raise self.unreadable(node)
        if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            raise self.unreadable(node)
        return value

    def column(self, name: str) -> str:
        """The name of a column, from a word or from what stood in backticks."""
        found = re.fullmatch(r"__column(\d+)__", name)
        if found and int(found[1]) < len(self.quoted):
            name = self.quoted[int(found[1])]
        names = (*self.schema.names, self.schema.target.name)
        if name not in names:
            raise unknown_name("column", name, names)
        return name

    def categories(self, name: str) -> tuple[str, ...] | None:
        """Of a categorical column or of a target with classes; None for numbers."""
        if name == self.schema.target.name:
            return self.schema.target.classes or None
        column = self.schema.column(name)
        return None if column.is_numeric else column.categories

    def unreadable(self, node: ast.expr) -> InputError:
        part = ast.unparse(node)
        for place, name in enumerate(self.quoted):
            part = part.replace(f"__column{place}__", f"`{name}`")
        return InputError(f"The property {self.text!r} cannot be read at {part!r}; it may hold {_FORMS}.")


def _matching(name: str, categories: tuple[str, ...], sign: str, values: list[str | float]) -> tuple[int, ...]:
    """Codes of the categories that pass a test. An unknown category differs from all of them."""
    if sign in ("==", "!=", "in", "not in"):
        wanted = {_code(name, categories, value) for value in values}
        if sign in ("==", "in"):
            return tuple(sorted(wanted))
        return tuple(code for code in range(UNKNOWN_CODE, len(categories)) if code not in wanted)
    numbers = [math.nan if category == MISSING else _as_number(category) for category in categories]
    bound = _as_number(values[0])
    if bound is None or None in numbers:
        raise InputError(f"Column {name!r} holds categories without an order; use ==, != or in.")
    passed = COMPARE[sign](np.array(numbers, dtype=float), bound)  # an empty cell is neither above nor below
    return tuple(int(code) for code in np.flatnonzero(passed))


def _code(name: str, categories: tuple[str, ...], value: str | float) -> int:
    """The code of a category. Blanks at its ends do not count: files differ in them."""
    wanted = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if wanted in categories:
        return categories.index(wanted)
    bare = [category.strip() for category in categories]
    if wanted.strip() in bare:
        return bare.index(wanted.strip())
    raise unknown_name(f"category of {name!r}", wanted, categories)


def _as_number(text: str | float) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
