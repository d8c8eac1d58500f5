"""The facts of a fitted scikit-learn preprocessor: read off its attributes, nothing of it is run or unpickled.

Long because every step that is known has its reading here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from seepage._core import InputError
from seepage.data.preprocessing import (
    CodeFacts,
    InputFacts,
    NumberFacts,
    OneHotFacts,
    Preprocessing,
    QuantileFacts,
    in_text,
)

KNOWN = (
    "ColumnTransformer, Pipeline, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, QuantileTransformer, "
    "OneHotEncoder, OrdinalEncoder, SimpleImputer and passthrough"
)


@dataclass(frozen=True)
class _State:
    """A column on its way through the steps: what was done to it so far.

    Args:
        shift, scale: of each of its outputs, ``(output - shift) / scale``.
        encoder: of a category, once it has been encoded; a function from (name, fill, shift, scale) to its facts.
        curve: quantiles, levels and whether scores are normal, once it has been bent.
        low, high: ends at which it was cut.
        fill: what an empty cell becomes.
    """

    name: str
    shift: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    encoder: Callable[..., InputFacts] | None = None
    outputs: int = 1
    curve: dict[str, Any] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    fill: Any = None

    @property
    def fresh(self) -> bool:
        """Whether it is still as in the table."""
        return self.encoder is None and not self.curve and (self.shift, self.scale) == ((0.0,), (1.0,))

    def facts(self) -> InputFacts:
        if self.encoder is not None:
            return self.encoder(self)
        fill = None if self.fill is None else float(self.fill)
        scaled: dict[str, Any] = {"name": self.name, "shift": self.shift[0], "scale": self.scale[0], "fill": fill}
        if self.curve:
            return QuantileFacts(**self.curve, **scaled)
        return NumberFacts(**scaled, low=self.low, high=self.high)


def is_sklearn(thing: object) -> bool:
    """Whether something is an estimator of scikit-learn, or of a package that is built like it."""
    return any(each.__module__.partition(".")[0] == "sklearn" for each in type(thing).__mro__)


def from_sklearn(fitted: Any) -> Preprocessing:
    """The facts of a fitted preprocessor.

    Args:
        fitted: a ``ColumnTransformer``, a ``Pipeline`` or a single step, fitted on a frame, whose columns have names.

    Raises:
        InputError: it is not fitted, has a step that is not known, or drops or adds columns.
    """
    _check_fitted(fitted)
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        raise InputError("The preprocessor was fitted on an array; fit it on a frame, so that its columns have names.")
    states = _passed(fitted, [_State(str(name)) for name in names])
    return Preprocessing(columns=tuple(state.facts() for state in states))


def _check_fitted(step: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise InputError(f"The preprocessor's {type(step).__name__} is not fitted; call fit first.") from None
    except TypeError:
        raise InputError(f"A {type(step).__name__} is no preprocessor; known are {KNOWN}.") from None


def _passed(step: Any, states: list[_State]) -> list[_State]:
    """The columns after a step."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return states
    kind = type(step).__name__
    if kind == "FunctionTransformer" and step.func is None:
        return states
    if kind not in _STEPS or not is_sklearn(step):
        raise InputError(f"The preprocessor has a step {kind}, which is not known; known are {KNOWN}.")
    _check_fitted(step)
    result: list[_State] = _STEPS[kind](step, states)
    return result


def _pipeline(step: Any, states: list[_State]) -> list[_State]:
    for _, each in step.steps:
        states = _passed(each, states)
    return states


def _column_transformer(step: Any, states: list[_State]) -> list[_State]:
    """Its parts side by side; every column must be in one of them."""
    if any(state.outputs != 1 for state in states):
        raise InputError("The preprocessor picks columns after it has encoded them; pick them first.")
    if step.transformer_weights:
        raise InputError("The preprocessor weighs its parts (transformer_weights), which is not known.")
    result: list[_State] = []
    seen: dict[int, str] = {}
    for name, part, chosen in step.transformers_:
        places = _places(chosen, states, step)
        if isinstance(part, str) and part == "drop":
            continue
        for place in places:
            if place in seen:
                raise InputError(
                    f"The preprocessor adds columns: {states[place].name!r} is in {seen[place]!r} and in {name!r}."
                )
            seen[place] = name
        result += _passed(part, [states[place] for place in places])
    lost = [state.name for place, state in enumerate(states) if place not in seen]
    if lost:
        raise InputError(
            f"The preprocessor drops the column {', '.join(map(repr, lost[:3]))}; leave it out of the table too "
            "(drop), and fit without it."
        )
    return result


def _places(chosen: Any, states: Sequence[_State], step: Any) -> list[int]:
    """Which columns a part takes: names, places, a slice or a mask."""
    names = [str(each) for each in getattr(step, "feature_names_in_", [state.name for state in states])]
    if isinstance(chosen, str):
        chosen = [chosen]
    if isinstance(chosen, slice):
        ends = [names.index(end) if isinstance(end, str) else end for end in (chosen.start, chosen.stop)]
        if isinstance(chosen.stop, str):  # a slice of names has its end in it
            ends[1] += 1
        return list(range(len(names)))[ends[0] : ends[1] : chosen.step]
    if isinstance(chosen, int | np.integer):
        chosen = [int(chosen)]
    listed = list(chosen)
    if listed and isinstance(listed[0], bool | np.bool_):
        return [place for place, taken in enumerate(listed) if taken]
    return [names.index(each) if isinstance(each, str) else int(each) % len(names) for each in listed]


def _imputed(step: Any, states: list[_State]) -> list[_State]:
    if step.add_indicator:
        raise InputError("The preprocessor adds columns: SimpleImputer(add_indicator=True).")
    if not _is_empty(step.missing_values):
        raise InputError(
            f"SimpleImputer fills cells that are {step.missing_values!r}; only empty ones (NaN or None) are known."
        )
    result = []
    for state, value in zip(states, step.statistics_, strict=True):
        if _is_empty(value):
            raise InputError(f"The preprocessor drops the column {state.name!r}, which was empty when it was fitted.")
        if not state.fresh:
            raise InputError(f"The column {state.name!r} is filled after it was scaled or encoded; fill it first.")
        result.append(replace(state, fill=value if state.fill is None else state.fill))
    return result


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _scaled(shift: Any, scale: Any, states: list[_State]) -> list[_State]:
    """Every output moved and divided."""
    total = sum(state.outputs for state in states)
    shifts = np.zeros(total) if shift is None else np.asarray(shift, dtype=float)
    scales = np.ones(total) if scale is None else np.asarray(scale, dtype=float)
    result, begin = [], 0
    for state in states:
        end = begin + state.outputs
        # ((x - a) / b - c) / d = (x - (a + b c)) / (b d)
        moved = tuple(a + b * float(c) for a, b, c in zip(state.shift, state.scale, shifts[begin:end], strict=True))
        wider = tuple(b * float(d) for b, d in zip(state.scale, scales[begin:end], strict=True))
        result.append(replace(state, shift=moved, scale=wider))
        begin = end
    return result


def _min_max(step: Any, states: list[_State]) -> list[_State]:
    # It computes x * scale_ + min_.
    if not step.clip:
        return _scaled(-step.min_ / step.scale_, 1 / step.scale_, states)
    if not all(state.fresh for state in states):
        raise InputError("MinMaxScaler(clip=True) after another step is not known.")
    cut = [
        replace(state, low=float(low), high=float(high))
        for state, low, high in zip(states, step.data_min_, step.data_max_, strict=True)
    ]
    return _scaled(-step.min_ / step.scale_, 1 / step.scale_, cut)


def _bent(step: Any, states: list[_State]) -> list[_State]:
    result = []
    for place, state in enumerate(states):
        if state.curve or state.encoder is not None or state.low is not None:
            raise InputError(f"The column {state.name!r} is bent by quantiles after another step that is not linear.")
        values = step.quantiles_[:, place] * state.scale[0] + state.shift[0]
        curve = {
            "values": tuple(map(float, values)),
            "levels": tuple(map(float, step.references_)),
            "normal": step.output_distribution == "normal",
        }
        result.append(replace(state, curve=curve, shift=(0.0,), scale=(1.0,)))
    return result


def _one_hot(step: Any, states: list[_State]) -> list[_State]:
    result = []
    rare = getattr(step, "infrequent_categories_", None) or [None] * len(states)
    dropped = step.drop_idx_ if step.drop_idx_ is not None else [None] * len(states)
    unknown = {"error": "error", "warn": "zeros", "ignore": "zeros", "infrequent_if_exist": "zeros"}
    for state, categories, few, drop in zip(states, step.categories_, rare, dropped, strict=True):
        _check_fresh(state)
        others = [] if few is None else [in_text(each) for each in few]
        listed = [text for each in categories if (text := in_text(each)) not in others]
        gone = None
        if drop is not None:
            text = in_text(categories[int(drop)])
            gone = RARE if text in others else text
        listed += [_rare_name(listed)] if others else []
        gone = listed[-1] if gone == RARE else gone
        kind = (
            "rare"
            if others and step.handle_unknown in ("infrequent_if_exist", "warn")
            else unknown[step.handle_unknown]
        )
        known = {"categories": tuple(listed), "drop": gone, "rare": tuple(others), "unknown": kind}
        count = len(listed) - (gone is not None)
        result.append(_encoded(state, count, lambda state, known=known: _one_hot_facts(state, known)))
    return result


RARE = "infrequent_sklearn"  # what scikit-learn calls the entry of rare categories


def _rare_name(listed: Sequence[str]) -> str:
    name = RARE
    while name in listed:
        name += "_"
    return name


def _one_hot_facts(state: _State, known: dict[str, Any]) -> OneHotFacts:
    shift, scale = list(state.shift), list(state.scale)
    if known["drop"] is not None:  # it has no entry, so nothing scales it
        place = known["categories"].index(known["drop"])
        shift.insert(place, 0.0)
        scale.insert(place, 1.0)
    plain = all(each == 0 for each in shift) and all(each == 1 for each in scale)
    scaled: dict[str, Any] = {} if plain else {"shift": tuple(shift), "scale": tuple(scale)}
    return OneHotFacts(name=state.name, fill=_fill_text(state), **known, **scaled)


def _ordinal(step: Any, states: list[_State]) -> list[_State]:
    result = []
    if any(each is not None for each in getattr(step, "infrequent_categories_", None) or []):
        raise InputError("OrdinalEncoder with rare categories (min_frequency, max_categories) is not known.")
    for state, categories in zip(states, step.categories_, strict=True):
        _check_fresh(state)
        listed = [in_text(each) for each in categories]
        unknown = "error"
        if step.handle_unknown == "use_encoded_value" and step.unknown_value == len(listed):
            unknown = "next"
        known = {"categories": tuple(listed), "unknown": unknown}
        result.append(
            _encoded(
                state,
                1,
                lambda state, known=known: CodeFacts(
                    name=state.name, fill=_fill_text(state), shift=state.shift[0], scale=state.scale[0], **known
                ),
            )
        )
    return result


def _encoded(state: _State, outputs: int, encoder: Callable[..., InputFacts]) -> _State:
    return replace(state, encoder=encoder, outputs=outputs, shift=(0.0,) * outputs, scale=(1.0,) * outputs)


def _check_fresh(state: _State) -> None:
    if not state.fresh:
        raise InputError(f"The column {state.name!r} is encoded as categories after it was scaled; encode it first.")


def _fill_text(state: _State) -> str | None:
    return None if state.fill is None else in_text(state.fill)


_STEPS: dict[str, Callable[[Any, list[_State]], list[_State]]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "SimpleImputer": _imputed,
    "StandardScaler": lambda step, states: _scaled(step.mean_ if step.with_mean else None, step.scale_, states),
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": lambda step, states: _scaled(None, step.scale_, states),
    "RobustScaler": lambda step, states: _scaled(step.center_, step.scale_, states),
    "QuantileTransformer": _bent,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
}
