"""Options: what a user may say, declared once.

A setting is a field of a pydantic class with an :class:`Option` beside its type. The command line, plan files, Python
and the reference are all made from that one line; nothing else repeats its name, default or help.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from seepage._core import InputError, nearest, unknown_name
from seepage._core.option import Option
from seepage._core.validation import sentence as sentence

MOST = 1_000_000  # of anything that multiplies work, and of rates: no honest run has more, and no slip of a finger less

MOST_ROWS = 1_000_000_000  # that may be asked for; a table has its own say
Checked = TypeVar("Checked", bound=BaseModel)


def each_once(value: Sequence[object]) -> Sequence[object]:
    """A list of a plan: at least one entry, none twice."""
    if not value or len(set(value)) != len(value):
        raise ValueError("needs at least one entry, each once")
    return value


EachOnce = AfterValidator(each_once)


class Settings(BaseModel):
    """What a study's settings have in common: they are checked, they do not change, and nothing is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)

    def belongs(self) -> None:
        """Stop with a sentence if a setting that was given would have no effect beside the others."""


def option_of(field: FieldInfo) -> Option:
    """How a setting is said."""
    return next(each for each in field.metadata if isinstance(each, Option))


def flag_of(name: str, field: FieldInfo) -> str:
    """Its flag on the command line."""
    option = option_of(field)
    return option.off or option.flag or f"--{name.replace('_', '-')}"


def holds_several(field: FieldInfo) -> bool:
    """Whether a setting takes several values."""
    return get_origin(field.annotation) is tuple


def allowed_words(field: FieldInfo) -> tuple[str, ...]:
    """The words a setting may be, if there are only some."""
    every = _alternatives(field.annotation)
    words = tuple(word for each in every if get_origin(each) is Literal for word in get_args(each))
    plain = [each for each in every if each is not type(None) and get_origin(each) is not Literal]
    return words if words and not plain else ()


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is tuple:
        return _alternatives(get_args(annotation)[0])
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def plain_type(field: FieldInfo) -> Any:
    """The type of a setting where it is typed as a word."""
    every = [each for each in _alternatives(field.annotation) if each is not type(None)]
    if len(every) == 1 and not holds_several(field) and every[0] in (int, float, Path):
        return every[0]
    return str


def aliases(kind: type[BaseModel]) -> dict[str, str]:
    """Other names of settings, for single values."""
    return {option_of(field).one: name for name, field in kind.model_fields.items() if option_of(field).one}


def renamed(values: Mapping[str, Any], kinds: Iterable[type[BaseModel]], where: str) -> dict[str, Any]:
    """Keys in one way of writing: one model is a list of one."""
    others = {one: name for kind in kinds for one, name in aliases(kind).items()}
    for one, name in others.items():
        if one in values and name in values:
            raise InputError(f"There are {one!r} and {name!r} in {where}; say one of them.")
    return {others.get(key, key): value for key, value in values.items()}


def foreign_name(
    key: str, own: Iterable[str], others: Mapping[str, Iterable[str]], study: str, where: str = ""
) -> InputError:
    """The error for a setting that this study does not have: who has it, or the nearest that it has."""
    names = list(own)
    having = [name for name, keys in others.items() if key in set(keys)]
    place = f" in {where}" if where else ""
    if having:
        studies = "study" if len(having) == 1 else "studies"
        guess = nearest(key, names)
        hint = f" Did you mean {guess!r}?" if guess else ""
        return InputError(
            f"The setting {key!r}{place} belongs to the {studies} {' and '.join(having)}; this is the study {study}."
            f"{hint}"
        )
    return unknown_name(f"setting of the study {study}{place}:", key, names)


def as_typed(kind: str, asked: object) -> str:
    """A spec as it was typed: where no part is looked up."""
    return str(asked)


def checked(
    kind: type[Checked], values: Mapping[str, object], written_out: Callable[[str, Any], str] = as_typed
) -> Checked:
    """Options of this kind from plain values; a mistake is one sentence.

    Args:
        values: by the names of the fields; others are told by :func:`foreign_name` before.
        written_out: from a kind of part and its spec (or the object itself) to the spec as it is written down.
    """
    plain = {}
    for name, value in values.items():
        field = kind.model_fields[name]
        plain[name] = _shaped(name, field, value, written_out)
    try:
        made = kind(**plain)
    except ValidationError as error:
        raise InputError(sentence(error)) from None
    if isinstance(made, Settings):
        made.belongs()
    return made


def _shaped(name: str, field: FieldInfo, value: Any, written_out: Callable[[str, Any], str]) -> Any:
    """A value in the form of its setting: one where several are allowed, specs written out, words checked."""
    several = holds_several(field)
    module = hasattr(value, "state_dict")  # a torch module may have layers to iterate over, and is one model
    if several and (module or isinstance(value, str | Mapping) or not isinstance(value, Iterable)):
        value = (value,)
    words = allowed_words(field)
    for each in value if several else (value,):
        if isinstance(each, bool) and bool not in _alternatives(field.annotation):
            raise InputError(f"Setting {name!r} is {str(each).lower()}: it is not one that is true or false.")
        if words and isinstance(each, str) and each not in words:
            raise unknown_name(name.replace("_", " "), each, words)
    part = option_of(field).part
    if part and value is not None:
        value = tuple(written_out(part, each) for each in value) if several else written_out(part, value)
    if isinstance(value, Mapping):
        value = {str(key): str(entry) for key, entry in value.items()}
    return tuple(value) if several else value
