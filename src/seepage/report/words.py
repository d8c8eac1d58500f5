"""Numbers and names in words that a privacy officer reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from seepage.results import Cell, Interval

NOTHING = "–"  # shown where there is no number
SPACE = "\u00a0"  # keeps a number and its unit on one line

GUESSES = {
    "prior": "the clients' own averages",
    "marginal": "the whole data set's columns",
    "uniform": "any value in range",
}

METRICS = {
    "loss": "loss",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "macro_f1": "macro F1",
    "f1_macro": "macro F1",
    "auc": "ROC AUC",
    "roc_auc": "ROC AUC",
    "auprc": "PR AUC",
    "pr_auc": "PR AUC",
    "average_precision": "PR AUC",
    "mcc": "MCC",
    "r2": "R²",
    "rmse": "RMSE",
    "mse": "MSE",
    "mae": "MAE",
}


def number(value: Any) -> float | None:
    """A finite number, or None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def interval(entry: Mapping[str, Any] | None) -> Interval | None:
    """The interval of a summary's entry; None when the number does not apply."""
    mean = number(entry.get("mean")) if entry else None
    if entry is None or mean is None:
        return None
    low, high = number(entry.get("low")), number(entry.get("high"))
    return Interval(mean, low, high) if low is not None and high is not None else Interval(mean, None, None)


def percent(share: float | None) -> str:
    """A share in whole percent. Neither "0 %" nor "100 %" is said of a share that only comes near.

    Example:
        >>> percent(0.9996).replace(SPACE, " ")
        'over 99 %'
    """
    if share is None:
        return NOTHING
    whole = round(100 * share)
    if whole >= 100 and share < 1 - 1e-9:
        return f"over 99{SPACE}%"
    if whole == 0 and share > 1e-9:
        return f"under 1{SPACE}%"
    return f"{max(whole, 0)}{SPACE}%"


def ends(value: Interval | None) -> str:
    """The ends of a share's interval: ``86–93``; nothing when there is none."""
    if value is None or value.low is None or value.high is None:
        return ""
    return f"{round(100 * value.low)}–{round(100 * value.high)}"


def points(value: float | None) -> str:
    """A difference of two shares in percentage points, with its sign."""
    if value is None:
        return NOTHING
    whole = round(100 * value)
    return f"{'+' if whole > 0 else '−' if whole < 0 else '±'}{abs(whole)}"


def point_ends(value: Interval | None) -> str:
    """The ends of a difference's interval: ``+30 to +38``; nothing when there is none."""
    if value is None or value.low is None or value.high is None:
        return ""
    return f"{points(value.low)} to {points(value.high)}"


def score(value: float | None) -> str:
    """A utility score, three significant digits."""
    return NOTHING if value is None else f"{value:.3g}" if abs(value) >= 10 else f"{value:.3f}"


def count(value: float) -> str:
    """A whole number with separated thousands."""
    return f"{value:,.0f}"


def plural(amount: int, one: str, many: str = "") -> str:
    """``1 row``, ``2 rows``."""
    return f"{count(amount)}{SPACE}{one if amount == 1 else many or one + 's'}"


def metric(name: str) -> str:
    """The name people use for a score."""
    return METRICS.get(name, name.replace("_", " "))


def batches(size: int) -> str:
    """How a batch size is said."""
    return "batches of one row" if size == 1 else f"batches of {size}"


def name_of(text: str) -> str:
    """The name in a spec."""
    return text.partition(":")[0]


def options_of(text: str) -> list[tuple[str, str]]:
    """The options in a spec, with their values."""
    pairs = [part.partition("=") for part in text.split(":")[1:]]
    return [(name, value) for name, _, value in pairs]


def spec(text: Any, *, bare: bool = False) -> str:
    """A spec for people; ``bare`` leaves the name of a lone option out.

    Example:
        >>> spec("mlp:width=50:depth=1"), spec("top_k:share=0.1", bare=True)
        ('mlp width 50, depth 1', 'top_k 0.1')
    """
    name, options = name_of(str(text)), options_of(str(text))
    if bare and len(options) == 1:
        return f"{name} {options[0][1]}".strip()
    return f"{name} {', '.join(f'{option} {value}'.strip() for option, value in options)}".strip()


def reads_as(text: str) -> float:
    """The number that a text is, or 0."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


_SAID: dict[str, Callable[[Any], str]] = {
    "dataset": lambda value: str(value),
    "protocol": lambda value: str(value),
    "model": spec,
    "batch_size": lambda value: f"batch{SPACE}{value}",
    "defense": lambda value: f"no{SPACE}defence" if value == "none" else spec(value, bare=True),
    "attack_point": lambda value: f"point {value}" if str(value)[:1].isdigit() else str(value),
    "attack": spec,
    "variant": lambda value: str(value) or "as given",
}
DIMENSIONS = tuple(_SAID)


def said(dimension: str, value: Any) -> str:
    """One coordinate of a cell: ``batch 8``, ``no defence``."""
    return _SAID[dimension](value)


def label(cell: Cell, dimensions: tuple[str, ...]) -> str:
    """A cell's name, made of the given coordinates."""
    return joined(said(name, getattr(cell, name)) for name in dimensions)


def joined(parts: Iterable[str]) -> str:
    """Coordinates in one line; a line break never comes before the dot."""
    return f"{SPACE}· ".join(parts)


def shortened(text: str, length: int) -> str:
    """The text, with its middle left out when it is longer than a plot can carry."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return f"{text[: length - 1 - tail]}…{text[-tail:]}"
