"""What ``help(seepage.audit)`` shows: every option by name, made from the settings that the studies declare."""

from __future__ import annotations

import inspect
import re
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from seepage._core.option import Option
from seepage.data.request import Request
from seepage.plans.options import option_of
from seepage.studies import SETTINGS, command_of

WIDTH = 100  # of a line of help


class ByStudy:
    """A default that differs between studies: it shows all of them."""

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)

    def __repr__(self) -> str:
        return f"<{', '.join(f'{study}: {value!r}' for study, value in self.defaults.items())}>"


def with_options(function: Callable[..., Any]) -> inspect.Signature:
    """The function's signature with the options of the table and of all studies in place of its ``**options``."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())
    taken = {parameter.name for parameter in own}
    options = [_parameter(name, having) for name, having in _declared().items() if name not in taken]
    return inspect.Signature([*own[:-1], *options, own[-1]], return_annotation=_returned(function))


def _returned(function: Callable[..., Any]) -> Any:
    return inspect.signature(function, eval_str=True).return_annotation


def _declared() -> dict[str, dict[str, FieldInfo]]:
    """Every option, with the studies that have it; those of the table belong to none."""
    found: dict[str, dict[str, FieldInfo]] = {}
    kinds: dict[str, type[BaseModel]] = {"": Request, **SETTINGS}
    for study, kind in kinds.items():
        for name, field in kind.model_fields.items():
            found.setdefault(said(name, field), {})[study] = field
    return found


def said(name: str, field: FieldInfo) -> str:
    """How an option is called in Python: ``schema``, which pydantic does not let be a field's name."""
    return option_of(field).one if name == "schema_file" else name


def _parameter(name: str, having: Mapping[str, FieldInfo]) -> inspect.Parameter:
    defaults = {study: field.get_default(call_default_factory=True) for study, field in having.items()}
    first = next(iter(defaults.values()))
    alike = all(value == first for value in defaults.values())
    kinds = list(dict.fromkeys(plain(field.annotation) for field in having.values()))
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=first if alike else ByStudy(defaults),
        annotation=kinds[0] if len(kinds) == 1 else Union[tuple(kinds)],  # noqa: UP007  # a list of types
    )


def plain(annotation: Any) -> Any:
    """A type without the limits that are declared beside it: those are for checking, not for reading.

    Example:
        >>> plain(tuple[Annotated[int, "at least 1"], ...])
        tuple[int, ...]
    """
    if get_origin(annotation) is Annotated:
        return plain(get_args(annotation)[0])
    if get_origin(annotation) is Literal or not get_args(annotation):
        return annotation
    parts = tuple(part if part is ... else plain(part) for part in get_args(annotation))
    if get_origin(annotation) in (Union, types.UnionType):
        return Union[parts]  # noqa: UP007
    return get_origin(annotation)[parts]


def described(text: str) -> str:
    """A docstring with every option added to it: what it is and its default, table first, then study by study."""
    parts = [textwrap.dedent(text).rstrip(), _listed("Options about the table", Request)]
    parts += [
        _listed(f"Options of the study {study} (on the command line: {command_of(study)})", kind)
        for study, kind in SETTINGS.items()
    ]
    return "\n\n".join(parts) + "\n"


def _listed(title: str, kind: type[BaseModel]) -> str:
    lines = [f"{title}:"]
    for name, field in kind.model_fields.items():
        option, called = option_of(field), said(name, field)
        if kind is Request and name in ("data", "target"):  # told above
            continue
        other = f" (or {option.one}, for one)" if option.one and option.one != called else ""
        lines += textwrap.wrap(
            f"{called}{other}: {_help(option)}{_default(field)}",
            WIDTH,
            initial_indent="    ",
            subsequent_indent="        ",
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _help(option: Option) -> str:
    """Its help without the words about how it is typed; a switch that is on is explained by what off means."""
    text = re.sub("[,;] separated by commas", "", option.help).removesuffix(" More than once.")
    return f"False means: {text}" if option.off else text


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return "" if value in (None, (), {}, "") else f" [{value!r}]"
