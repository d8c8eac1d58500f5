"""A property of a table: the share of rows for which something holds, or the mean of a column.

    sex == 'Female'
    age >= 18 and (`marital stat` != "Divorced" or not sex == 'Male')
    education in ('Masters degree(MA MS MEng MEd MSW MBA)', 'Doctorate degree(PhD EdD)')
    mean(age)

Backticks stand around a column name that is not one plain word, as in pandas and polars. The text is read as a syntax
tree of a few allowed forms; it is never run.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seepage._core import InputError, unknown_name
from seepage.data.schema import MISSING, Schema
from seepage.data.table import UNKNOWN_CODE, Table

LONGEST = 1000  # characters; nobody writes more, and the reader calls itself for every bracket
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARE: dict[str, Callable[..., np.ndarray]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": np.isin, "not in": lambda cells, values: ~np.isin(cells, values),
}  # fmt: skip
_FORMS = (
    "column names (in backticks unless they are one plain word), numbers, quoted categories, ==, !=, <, <=, >, >=, in, "
    "and, or, not, brackets, or else mean(column)"
)
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`([^`]*)`""")


@dataclass(frozen=True)
class NumberTest:
    """A numeric column beside a number."""

    column: str
    sign: str
    values: tuple[float, ...]

    def __call__(self, table: Table) -> np.ndarray:
        compared = self.values if "in" in self.sign else self.values[0]
        return _COMPARE[self.sign](_numbers(table, self.column), compared)


@dataclass(frozen=True)
class CategoryTest:
    """A categorical column that holds one of these codes. An unknown category is code -1."""

    column: str
    codes: tuple[int, ...]

    def __call__(self, table: Table) -> np.ndarray:
        return np.isin(_codes(table, self.column), self.codes)


@dataclass(frozen=True)
class Every:
    """All parts hold."""

    parts: tuple[Condition, ...]

    def __call__(self, table: Table) -> np.ndarray:
        both: np.ndarray = np.logical_and.reduce([part(table) for part in self.parts])
        return both


@dataclass(frozen=True)
class Some:
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def __call__(self, table: Table) -> np.ndarray:
        either: np.ndarray = np.logical_or.reduce([part(table) for part in self.parts])
        return either


@dataclass(frozen=True)
class Opposite:
    """The part does not hold."""

    part: Condition

    def __call__(self, table: Table) -> np.ndarray:
        return ~self.part(table)


@dataclass(frozen=True)
class Mean:
    """The numbers of a column."""

    column: str

    def __call__(self, table: Table) -> np.ndarray:
        return _numbers(table, self.column)


Condition = NumberTest | CategoryTest | Every | Some | Opposite


@dataclass(frozen=True)
class Property:
    """What an attacker wants to know about the rows a model was trained on.

    Args:
        text: as the user wrote it.
        measured: the condition, or the column whose mean is asked for.

    Example:
        >>> from seepage.data import Table, open_dataset
        >>> frame, schema = open_dataset("clinic")
        >>> share = Property.parse("age > 60", schema).share(Table.from_frame(frame, schema))
        >>> 0 < share < 1
        True
    """

    text: str
    measured: Condition | Mean

    @staticmethod
    def parse(text: str, schema: Schema) -> Property:
        """Read a property of tables with this schema; the target is a column too (class balance)."""
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
        return Property(text, _Reader(text, schema, tuple(names)).whole(tree))

    @property
    def is_share(self) -> bool:
        """Whether rows have it or not; the other kind is a mean."""
        return not isinstance(self.measured, Mean)

    def values(self, table: Table) -> np.ndarray:
        """(rows,) bool: which rows have it; of a mean the numbers (float64)."""
        return self.measured(table)

    def holds(self, table: Table) -> np.ndarray:
        """(rows,) bool: which rows have the property."""
        if not self.is_share:
            raise InputError(f"{self.text!r} is a mean; no single row has it or lacks it.")
        return self.values(table)

    def share(self, table: Table) -> float:
        """The share of rows that have the property; of a mean the mean."""
        if len(table) == 0:
            raise InputError("A table without rows has no share of anything.")
        return float(self.values(table).mean())


def draw(values: np.ndarray, share: float, count: int, generator: np.random.Generator) -> np.ndarray:
    """Rows of which a given share has the property, or whose mean is a given number.

    Args:
        values: (rows,) of the pool, from :meth:`Property.values`.
        share: of the drawn rows; of a mean the mean.
        count: how many rows.
        generator: for which rows, and for their order.

    Returns:
        (count,) different row numbers in random order. Exactly ``round(share * count)`` have the property. For a mean,
        rows above and below the median are mixed in the proportion that comes nearest.
    """
    check_varies(values)
    if not math.isfinite(share):
        raise InputError(f"The share is {share}; it must be a number.")
    if not 1 <= count <= len(values):
        raise InputError(f"{count} rows cannot be drawn from a pool of {len(values)}.")
    chosen = _with_share if values.dtype == np.bool_ else _with_mean
    return generator.permutation(chosen(values, share, count, generator))


def rebalance(holds: np.ndarray, share: float, count: int, generator: np.random.Generator) -> np.ndarray:
    """Places of ``count`` rows of which ``share`` has the property, whatever share there is.

    Where there are too few rows of a kind, each of them is taken equally often, give or take one; where there is none,
    the other kind is taken alone.

    Args:
        holds: (rows,) which of the rows there are have the property.
        share: of the rows taken.
        count: how many are taken.
        generator: for which rows, and for their order.
    """
    having, lacking = np.flatnonzero(holds), np.flatnonzero(~holds)
    wanted = round(share * count) if len(having) and len(lacking) else (count if len(having) else 0)
    taken = [np.resize(generator.permutation(kind), n) for kind, n in ((having, wanted), (lacking, count - wanted))]
    return generator.permutation(np.concatenate(taken))


def check_varies(values: np.ndarray) -> None:
    """Stop when all rows are alike: there is no other share to draw."""
    if len(values) == 0:
        raise InputError("The pool has no rows.")
    if values.min() != values.max():
        return
    if values.dtype != np.bool_:
        raise InputError(f"The column is {values[0]:g} in every row of the pool; choose one whose mean can differ.")
    found = "Every row" if values[0] else "No row"
    raise InputError(f"{found} of the pool has the property; choose one that some rows have and others do not.")


def possible_shares(values: np.ndarray, count: int) -> tuple[float, float]:
    """The smallest and the largest share that ``count`` rows of the pool can have; of a mean the same."""
    if values.dtype == np.bool_:
        having = int(values.sum())
        return max(0, count - (len(values) - having)) / count, min(having, count) / count
    low, high = _halves(values)
    fewest, most = max(0, count - len(high)), min(count, len(low))  # rows from below the median
    below, above = values[low].mean(), values[high].mean()
    smallest, largest = ((taken * below + (count - taken) * above) / count for taken in (most, fewest))
    return float(smallest), float(largest)


def _with_share(holds: np.ndarray, share: float, count: int, generator: np.random.Generator) -> np.ndarray:
    having = round(share * count)
    smallest, largest = possible_shares(holds, count)
    if not smallest <= having / count <= largest:
        kind, limit = ("largest", largest) if having / count > largest else ("smallest", smallest)
        raise InputError(
            f"A share of {share:g} in {count} rows cannot be drawn: {int(holds.sum())} of the pool's {len(holds)} rows "
            f"have the property, so the {kind} possible share is {limit:.4g}."
        )
    with_it = generator.choice(np.flatnonzero(holds), having, replace=False, shuffle=False)
    without = generator.choice(np.flatnonzero(~holds), count - having, replace=False, shuffle=False)
    return np.concatenate([with_it, without])


def _with_mean(values: np.ndarray, mean: float, count: int, generator: np.random.Generator) -> np.ndarray:
    low, high = (generator.permutation(half) for half in _halves(values))
    below = np.arange(max(0, count - len(high)), min(count, len(low)) + 1)
    sums = [np.concatenate([[0.0], np.cumsum(values[half])]) for half in (low, high)]
    means = (sums[0][below] + sums[1][count - below]) / count
    nearest = int(np.abs(means - mean).argmin())
    # What the exchange of one row can change; at the ends of the range, where nothing is left to exchange, chance.
    near = np.ptp(values) / count + 4 * values.std() / np.sqrt(count)
    if abs(means[nearest] - mean) > near:
        smallest, largest = possible_shares(values, count)
        raise InputError(
            f"A mean of {mean:g} in {count} rows cannot be drawn from this pool; about {smallest:.4g} to {largest:.4g} "
            "can."
        )
    taken = int(below[nearest])
    return np.concatenate([low[:taken], high[: count - taken]])


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows below and above the median. Where half of the cells are alike (no capital gains) it is not in the middle."""
    middle = np.median(values)
    upper = values > middle if (values > middle).any() else values >= middle
    return np.flatnonzero(~upper), np.flatnonzero(upper)


@dataclass(frozen=True)
class _Reader:
    """Turns a syntax tree into a condition, or says which part it cannot read."""

    text: str
    schema: Schema
    quoted: tuple[str, ...]  # names that stood in backticks

    def whole(self, node: ast.expr) -> Condition | Mean:
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
    passed = _COMPARE[sign](np.array(numbers, dtype=float), bound)  # an empty cell is neither above nor below
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


def _numbers(table: Table, name: str) -> np.ndarray:
    if name == table.schema.target.name:
        return table.target
    place = [column.name for column in table.schema.numeric].index(name)
    values: np.ndarray = table.numbers[:, place]
    return values


def _codes(table: Table, name: str) -> np.ndarray:
    if name == table.schema.target.name:
        return table.target
    place = [column.name for column in table.schema.categorical].index(name)
    codes: np.ndarray = table.codes[:, place]
    return codes
