"""A share of the published work: the paper's file says which settings get smaller, and how is the same for all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.plans import registry
from seepage.plans.options import plain_type
from seepage.plans.spec import Spec, options_of
from seepage.reproductions.narrowing import Values, grid_of
from seepage.reproductions.paper import Scaling, Share
from seepage.studies import SETTINGS

_PARTS = {"attacks": "attack", "models": "model"}  # settings whose values are specs


@dataclass(frozen=True)
class Scaled:
    """The values of a plan with less work, and what is less."""

    values: Values
    less: tuple[str, ...]


def scaled(values: Mapping[str, JsonValue], scaling: Scaling, share: float) -> Scaled:
    """A plan with this share of its work.

    The first settings shrink together, each down to its least. What the very first one leaves to be saved is taken from
    the others: fewer trials of the published length can be compared with the paper, shorter ones hardly.
    """
    current, less = dict(values), list[str]()
    for each in scaling.first:
        current, sentence = _shrunk(current, each, share)
        less += sentence
    left = share
    if scaling.first:
        before, after = (each.get(scaling.first[0].setting) for each in (values, current))
        if isinstance(before, int | float) and isinstance(after, int | float) and after:
            left = min(1.0, share * before / after)
    for each in scaling.then:
        current, sentence = _shrunk(current, each, left)
        less += sentence
    return Scaled(current, tuple(less))


def _shrunk(values: Values, share: Share, amount: float) -> tuple[Values, list[str]]:
    """A plan with one setting smaller, wherever it stands, and a sentence about it."""
    name, _, option = share.setting.partition(".")
    study = str(values.get("study", "rows"))
    amount = amount ** (1 / share.root)
    grid = grid_of(values)
    place = grid if name in grid else values
    before = place.get(name)
    if before is None or amount >= 1:
        return values, []
    if plain_type(SETTINGS[study].model_fields[name]) is float and isinstance(before, int):
        before = float(before)
    after = _spec(name, before, option, study, share, amount) if option else _smaller(before, share, amount)
    changed = values | {"grid": grid | {name: after}} if name in grid else values | {name: after}
    if after == before or not share.words:
        return changed, []
    if isinstance(before, int | float) and isinstance(after, int | float):
        return changed, [f"{_text(after)} of {_text(before)} {share.words}"]
    return changed, [f"{amount:.2g} of the {share.words}"]


def _smaller(value: JsonValue, share: Share, amount: float) -> JsonValue:
    """A value with this share of it; what is no number stays."""
    if isinstance(value, list):
        return [_smaller(each, share, amount) for each in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return min(value, max(math.ceil(share.least), round(amount * value)))
    if isinstance(value, float):
        return min(value, max(share.least, amount * value))
    if isinstance(value, str) and value.replace(".", "", 1).isdigit():  # an exposure among attack points
        return f"{amount * float(value):g}"
    return value


def _spec(name: str, value: JsonValue, option: str, study: str, share: Share, amount: float) -> JsonValue:
    """Specs with an option smaller; parts that do not have it stay."""
    if isinstance(value, list):
        return [_spec(name, each, option, study, share, amount) for each in value]
    text, kind = str(value), _PARTS[name]
    own = options_of(registry.make(kind, text, study)).get(option)
    if not isinstance(own, int | float):
        return text
    fewer = min(own, max(share.least, math.ceil(amount * own)))
    spec = Spec.read(text)
    bare = [spec.value] if spec.value is not None else []
    return ":".join(
        [spec.name, *bare, *(f"{key}={value}" for key, value in {**spec.options, option: f"{fewer:g}"}.items())]
    )


def _text(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
