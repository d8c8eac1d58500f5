"""Numbers and names in words that a privacy officer reads."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from seepage.results import Interval
from seepage.results.cells import Coordinate

NOTHING = "–"  # shown where there is no number
SPACE = "\u00a0"  # keeps a number and its unit on one line
Place = Mapping[str, Coordinate]

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


def percent(share: float | None) -> str:
    """A share in whole percent. Neither "0 %" nor "100 %" is said of a share that only comes near.

    Example:
        >>> percent(0.9996).replace(SPACE, " ")
        'over 99 %'
    """
    if share is None:
        return NOTHING
    rounded = round(100 * share)
    if rounded >= 100 and share < 1 - 1e-9:
        return f"over 99{SPACE}%"
    if rounded == 0 and share > 1e-9:
        return f"under 1{SPACE}%"
    return f"{max(rounded, 0)}{SPACE}%"


def ends(value: Interval | None) -> str:
    """The ends of a share's interval: ``86–93``; nothing when there is none."""
    if value is None or value.low is None or value.high is None:
        return ""
    return f"{round(100 * value.low)}–{round(100 * value.high)}"


def points(value: float | None) -> str:
    """A difference of two shares in percentage points, with its sign."""
    if value is None:
        return NOTHING
    rounded = round(100 * value)
    return f"{'+' if rounded > 0 else '−' if rounded < 0 else '±'}{abs(rounded)}"


def point_ends(value: Interval | None) -> str:
    """The ends of a difference's interval: ``+30 to +38``; nothing when there is none."""
    if value is None or value.low is None or value.high is None:
        return ""
    return f"{points(value.low)} to {points(value.high)}"


def score(value: float | None) -> str:
    """A score of a model, three significant digits."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value:.3g}" if abs(value) >= 10 else f"{value:.3f}"


def score_ends(value: Interval | None) -> str:
    """The ends of a score's interval: ``0.912 to 0.934``; nothing when there is none."""
    if value is None or value.low is None or value.high is None:
        return ""
    return f"{score(value.low)} to {score(value.high)}"


def count(value: float) -> str:
    """A whole number with separated thousands."""
    return f"{value:,.0f}"


def size(amount: float) -> str:
    """An amount of bytes: ``101 kB``."""
    for unit in ("B", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.3g}{SPACE}{unit}"
        amount /= 1000
    return f"{amount:,.0f}{SPACE}GB"


def plural(amount: int, one: str, many: str = "") -> str:
    """``1 row``, ``2 rows``."""
    return f"{count(amount)}{SPACE}{one if amount == 1 else many or one + 's'}"


def span(values: Sequence[float]) -> str:
    """The lowest and the highest of some numbers, or the one they all are: ``3–12``."""
    if not values:
        return NOTHING
    low, high = (f"{end:,.0f}" if end >= 1000 else f"{end:.3g}" for end in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"


def moment(stamp: str) -> str:
    """A stored time for people: ``17 November 2026, 08:37 UTC``; as it is where it is none."""
    try:
        when = datetime.datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    return f"{when.day}{SPACE}{when:%B %Y, %H:%M} UTC"


def metric(name: str) -> str:
    """The name people use for a score."""
    return METRICS.get(name, name.replace("_", " "))


def batches(size: Coordinate) -> str:
    """How a batch size is said."""
    return "batches of one row" if size == 1 else f"batches of {size}"


def name_of(text: str) -> str:
    """The name in a spec."""
    return text.partition(":")[0]


def options_of(text: str) -> list[tuple[str, str]]:
    """The options in a spec, with their values."""
    pairs = [part.partition("=") for part in text.split(":")[1:]]
    return [(name, value) for name, _, value in pairs]


def spec(text: str, *, bare: bool = False) -> str:
    """A spec for people; ``bare`` leaves the name of a lone option out.

    Example:
        >>> spec("mlp:width=50:depth=1"), spec("top_k:share=0.1", bare=True)
        ('mlp width 50, depth 1', 'top_k 0.1')
    """
    name, options = name_of(text), options_of(text)
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


def defence(text: Coordinate) -> str:
    """A defence: ``gaussian_noise 0.1``, ``no defence``."""
    return f"no{SPACE}defence" if text == "none" else spec(str(text), bare=True)


def joined_rounds(many: Coordinate) -> str:
    """``one update``, or ``5 rounds joined``."""
    return f"one{SPACE}update" if int(many) == 1 else f"{many}{SPACE}rounds joined"


# How each coordinate of a cell is said, in the order in which a label has them.
_IN_WORDS: dict[str, Callable[[Coordinate], str]] = {
    "dataset": str,
    "property_text": lambda value: f"rows with {value}",
    "observed": str,
    "sender": str,
    "rounds": lambda value: f"round{SPACE}{value}",
    "protocol": str,
    "model": lambda value: spec(str(value)),
    "people": lambda value: f"{count(float(value))}{SPACE}rows",
    "batch_size": lambda value: f"batch{SPACE}{value}",
    "batches": lambda value: f"{count(float(value))}{SPACE}batches",
    "guests": lambda value: plural(int(value), "guest"),
    "defense": defence,
    "watched": joined_rounds,
    "attack_point": lambda value: f"point {value}" if str(value)[:1].isdigit() else str(value),
    "attack": lambda value: spec(str(value)),
    "classes": lambda value: f"{value}{SPACE}ranges",
    "loss": lambda value: f"loss{SPACE}{value}",
    "reader": lambda value: f"reader {spec(str(value))}",
    "hierarchy": lambda value: f"in two steps, {value}" if value else "in one step",
    "learning_rate": lambda value: f"learning rate {value}",
    "origin": str,
    "variant": lambda value: str(value) or "as given",
}


def coordinate(name: str, value: Coordinate) -> str:
    """One coordinate of a cell: ``batch 8``, ``no defence``."""
    return _IN_WORDS.get(name, str)(value)


def label(place: Place, names: Iterable[str]) -> str:
    """A name for a cell, made of the given coordinates."""
    return joined(coordinate(name, place[name]) for name in names)


def varying(places: Sequence[Place], always: Sequence[str] = (), otherwise: Sequence[str] = ()) -> tuple[str, ...]:
    """The coordinates that tell these places apart, in the order in which they are said.

    Args:
        always: coordinates that are named even if all places agree in them.
        otherwise: what is named if nothing differs.
    """
    known = {name for place in places for name in place}
    several = {name for name in known if len({place.get(name) for place in places}) > 1}
    named = (several | (set(always) & known)) or (set(otherwise) & known)
    return tuple(sorted(named, key=_order))


def _order(name: str) -> tuple[int, str]:
    names = list(_IN_WORDS)
    return (names.index(name) if name in names else len(names), name)


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
