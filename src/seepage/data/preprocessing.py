"""Facts of a preprocessor that all clients share: how each column becomes inputs, and in which order.

They are read off a fitted scikit-learn preprocessor (:mod:`seepage.data.sklearn_facts`) or a TOML file that a person
can write, never off a pickle. The attacker knows them: they are part of what the server hands out.

Long because every kind of column has its facts here, with what can be wrong with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from seepage._core import InputError
from seepage._core.files import write_new
from seepage.data.curve import Curve
from seepage.data.schema import LARGEST, MISSING
from seepage.data.toml_files import document_of, read_text

MOST_COLUMNS, MOST_VALUES = 100_000, 100_000  # that a file may list


def _scale(value: float) -> float:
    if not value >= 1 / LARGEST:
        raise ValueError(f"a scale must be above 0, at least {1 / LARGEST:g}")
    return value


Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Scale = Annotated[float, Field(le=LARGEST, allow_inf_nan=False), AfterValidator(_scale)]
Word = Annotated[str, Field(max_length=10_000)]
Words = Annotated[tuple[Word, ...], Field(min_length=1, max_length=MOST_VALUES)]


class _Column(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=True)

    name: Word


class NumberFacts(_Column):
    """A number that becomes ``(number - shift) / scale``.

    Args:
        fill: what an empty cell becomes.
        low, high: cells outside are moved to these ends.
    """

    kind: Annotated[Literal["number"], Field(alias="as")] = "number"
    shift: Number = 0.0
    scale: Scale = 1.0
    fill: Number | None = None
    low: Number | None = None
    high: Number | None = None


class QuantileFacts(_Column):
    """A number that becomes the share of rows below it, or that share's normal score; then scaled.

    Args:
        values, levels: quantiles in order, and their shares from 0 to 1.
        normal: normal scores.
    """

    kind: Annotated[Literal["quantiles"], Field(alias="as")] = "quantiles"
    values: Annotated[tuple[Number, ...], Field(min_length=2, max_length=MOST_VALUES)]
    levels: Annotated[tuple[Number, ...], Field(min_length=2, max_length=MOST_VALUES)]
    normal: bool = False
    shift: Number = 0.0
    scale: Scale = 1.0
    fill: Number | None = None

    def model_post_init(self, context: Any, /) -> None:
        if len(self.values) != len(self.levels):
            raise ValueError(f"it has {len(self.values)} values and {len(self.levels)} levels")
        if np.any(np.diff(self.values) < 0) or np.any(np.diff(self.levels) <= 0):
            raise ValueError("values and levels must rise")
        if (self.levels[0], self.levels[-1]) != (0.0, 1.0):
            raise ValueError("levels must go from 0 to 1")

    @property
    def curve(self) -> Curve:
        """The bent part."""
        return Curve(self.values, self.levels, self.normal)


class OneHotFacts(_Column):
    """A category that becomes one entry for each category, 1 for its own.

    Args:
        categories: in the order of the entries.
        drop: a category without an entry: all are 0 then.
        rare: cells that count as the last category.
        unknown: what any other cell becomes: ``zeros``, ``rare`` (the last category) or ``error``.
        fill: what an empty cell becomes; ``__missing__`` among the categories keeps it.
        shift, scale: of each entry; none of them is scaled if they are empty.
    """

    kind: Annotated[Literal["onehot"], Field(alias="as")] = "onehot"
    categories: Words
    drop: Word | None = None
    rare: Annotated[tuple[Word, ...], Field(max_length=MOST_VALUES)] = ()
    unknown: Literal["zeros", "rare", "error"] = "error"
    fill: Word | None = None
    shift: Annotated[tuple[Number, ...], Field(max_length=MOST_VALUES)] = ()
    scale: Annotated[tuple[Scale, ...], Field(max_length=MOST_VALUES)] = ()

    def model_post_init(self, context: Any, /) -> None:
        _check_categories(self.categories)
        if self.drop is not None and self.drop not in self.categories:
            raise ValueError(f"drop is {self.drop!r}, which is not one of its categories")
        if self.drop is not None and len(self.categories) == 1:
            raise ValueError("its only category is dropped")
        for name in ("shift", "scale"):
            if getattr(self, name) and len(getattr(self, name)) != len(self.categories):
                raise ValueError(f"{name} needs one number for each of its {len(self.categories)} categories")
        if set(self.rare) & set(self.categories):
            raise ValueError("a category is rare and has an entry of its own")

    @property
    def kept(self) -> tuple[int, ...]:
        """Places of the categories that have an entry."""
        return tuple(place for place, each in enumerate(self.categories) if each != self.drop)


class CodeFacts(_Column):
    """A category that becomes its place in a list: a code for an embedding, or a number.

    Args:
        categories: in the order of their codes, from 0.
        unknown: what any other cell becomes: the ``next`` code after the last, or ``error``.
        fill: what an empty cell becomes.
        shift, scale: of the code, where a model takes it as a number.
    """

    kind: Annotated[Literal["codes"], Field(alias="as")] = "codes"
    categories: Words
    unknown: Literal["next", "error"] = "error"
    fill: Word | None = None
    shift: Number = 0.0
    scale: Scale = 1.0

    def model_post_init(self, context: Any, /) -> None:
        _check_categories(self.categories)


InputFacts = NumberFacts | QuantileFacts | OneHotFacts | CodeFacts
_KINDS: dict[str, type[InputFacts]] = {
    "number": NumberFacts, "quantiles": QuantileFacts, "onehot": OneHotFacts, "codes": CodeFacts,
}  # fmt: skip


def _check_categories(categories: Sequence[str]) -> None:
    twice = [each for each, times in Counter(categories).items() if times > 1]
    if twice:
        raise ValueError(f"the category {twice[0]!r} is listed twice")


class Preprocessing(BaseModel):
    """How every input column becomes inputs of the model, in the order in which the model takes them.

    Args:
        columns: one entry for each input column of the table.

    Example:
        >>> facts = Preprocessing(columns=(NumberFacts(name="age", shift=40.0, scale=10.0),))
        >>> Preprocessing.from_toml(facts.to_toml()) == facts
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: Annotated[tuple[InputFacts, ...], Field(min_length=1, max_length=MOST_COLUMNS)]

    def model_post_init(self, context: Any, /) -> None:
        twice = [name for name, times in Counter(each.name for each in self.columns).items() if times > 1]
        if twice:
            raise InputError(f"The preprocessing lists the column {twice[0]!r} more than once.")

    @property
    def numbers(self) -> tuple[NumberFacts | QuantileFacts, ...]:
        """The columns that are numbers, in order."""
        return tuple(each for each in self.columns if isinstance(each, NumberFacts | QuantileFacts))

    @property
    def categories(self) -> tuple[OneHotFacts | CodeFacts, ...]:
        """The columns that are categories, in order."""
        return tuple(each for each in self.columns if isinstance(each, OneHotFacts | CodeFacts))

    @property
    def standardised(self) -> bool:
        """Whether one-hot entries are scaled too."""
        return any(isinstance(each, OneHotFacts) and (each.shift or each.scale) for each in self.columns)

    def cannot_be_inverted(self) -> tuple[str, ...]:
        """What of a row is lost by the preprocessing itself, in sentences."""
        lost = []
        for each in self.categories:
            if isinstance(each, OneHotFacts) and len(each.rare) > 1:
                lost.append(
                    f"{len(each.rare)} rare categories of {each.name!r} share one entry and cannot be told apart."
                )
            if isinstance(each, OneHotFacts) and each.drop is not None and each.unknown == "zeros":
                lost.append(f"An unknown category of {each.name!r} looks like {each.drop!r}, which has no entry.")
        for number in self.numbers:
            if isinstance(number, NumberFacts) and (number.low is not None or number.high is not None):
                lost.append(f"Numbers of {number.name!r} beyond its ends are moved there and cannot be told apart.")
            if number.fill is not None:
                lost.append(f"Empty cells of {number.name!r} become {number.fill:g} and look like any such cell.")
        return tuple(lost)

    def to_toml(self) -> str:
        """The facts as TOML text that a person can edit."""
        entries = [each.model_dump(by_alias=True, exclude_defaults=True, mode="json") for each in self.columns]
        ordered = [
            {"name": each.name, "as": each.kind, **{key: value for key, value in entry.items() if key != "name"}}
            for each, entry in zip(self.columns, entries, strict=True)
        ]
        return tomli_w.dumps({"columns": ordered})

    def write(self, path: str | Path) -> None:
        """Write the facts to a TOML file; an existing file is not overwritten."""
        write_new(Path(path), self.to_toml())

    @staticmethod
    def read(path: str | Path) -> Preprocessing:
        """Read the facts from a TOML file."""
        return Preprocessing.from_toml(read_text(Path(path), "preprocessing"), str(path))

    @staticmethod
    def from_toml(text: str, where: str = "preprocessing") -> Preprocessing:
        """Read the facts from TOML text. ``where`` names it in error messages."""
        document = document_of(text, where)
        entries = document.get("columns")
        if set(document) != {"columns"} or not isinstance(entries, list) or not entries:
            raise InputError(f"{where} needs [[columns]] entries, one for each input column, and nothing else.")
        return Preprocessing(columns=tuple(_column(entry, where) for entry in entries))


def _column(entry: Any, where: str) -> InputFacts:
    """One entry; what is wrong with it is one sentence without its values, which may be private."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise InputError(f"An entry of [[columns]] in {where} has no name.")
    name = f"Column {entry['name']!r} in {where}"
    kind = _KINDS.get(str(entry.get("as")))
    if kind is None:
        raise InputError(f"{name} needs as = {', '.join(map(repr, _KINDS))}.")
    try:
        return kind.model_validate(_as_tuples(entry))
    except ValidationError as error:
        first = error.errors()[0]
        key = next((str(part) for part in first["loc"]), "")
        if first["type"] == "extra_forbidden":
            raise InputError(f"{name} has a key {key!r}, which as = {entry['as']!r} does not take.") from None
        if first["type"] == "missing":
            raise InputError(f"{name} has no {key}.") from None
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{name}: {f'{key}: ' if key else ''}{said[0].lower()}{said[1:]}.") from None


def _as_tuples(entry: dict[str, Any]) -> dict[str, Any]:
    """TOML's lists as tuples, and whole numbers as numbers where a number is meant."""
    numbers = {"shift", "scale", "fill", "low", "high", "values", "levels"}

    def number(value: Any) -> Any:
        try:
            return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        except OverflowError:
            return float("inf")

    changed = {}
    for key, value in entry.items():
        if isinstance(value, list):
            changed[key] = tuple(number(each) if key in numbers else each for each in value)
        else:
            changed[key] = number(value) if key in numbers else value
    return changed


def in_text(value: Any) -> str:
    """A category as text, as tables write it: 1.0 and 1 are the same, an empty cell has a name of its own."""
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return MISSING
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(float(value)) < 2**63:
        return str(int(value))
    return str(value).strip()
