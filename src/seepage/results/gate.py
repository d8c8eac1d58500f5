"""A limit on leakage that a build can be stopped by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seepage._core import InputError, Outcome

_CHOICE = ("dataset", "protocol", "model", "batch_size", "defense", "variant", "attack_point")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is still allowed, judged by the upper end of the interval.

    Args:
        emr: share of rows read back exactly.
        gain: share of cells read beyond the best guess.
    """

    emr: float | None = None
    gain: float | None = None

    def __post_init__(self) -> None:
        if self.emr is None and self.gain is None:
            raise InputError("What is the limit? Say it with --max-emr, --max-gain or both.")
        for name, value in (("--max-emr", self.emr), ("--max-gain", self.gain)):
            if value is not None and not 0 <= value <= 1:
                raise InputError(f"{name} is {value}; it is a share between 0 and 1.")


@dataclass(frozen=True)
class Breach:
    """A cell above a limit, or a choice of which nothing is known."""

    cell: str
    what: str


def breaches(cells: Sequence[dict[str, Any]], limits: Limits) -> list[Breach]:
    """Where leakage is above a limit. What no attack could measure is no evidence of privacy, so it counts too."""
    found: list[Breach] = []
    measured: dict[tuple[Any, ...], bool] = {}
    for cell in cells:
        key = tuple(cell.get(name, "") for name in _CHOICE)
        scored = cell["metrics"].get("accuracy") is not None
        broke = cell["outcome"] != Outcome.NOT_APPLICABLE.code and not scored
        measured[key] = measured.get(key, False) or scored or broke
        if broke:
            found.append(Breach(said(cell), f"could not be measured ({cell['outcome'].replace('_', ' ')})"))
        if scored:
            found += [Breach(said(cell), what) for what in _above(cell, limits)]
    nothing = "no attack could be mounted, so nothing is known"
    return found + [Breach(_joined(key), nothing) for key, known in measured.items() if not known]


def _above(cell: dict[str, Any], limits: Limits) -> Iterator[str]:
    """How a measured cell is above the limits."""
    if cell["metrics"]["accuracy"]["high"] is None:
        yield "one attacked batch gives no interval to judge; raise trials"
        return
    if limits.emr is not None and (emr := _upper(cell["metrics"].get("emr"))) > limits.emr:
        yield f"up to {emr:.1%} of rows read exactly; allowed are {limits.emr:.1%}"
    gain = min((_upper(value) for value in cell["gain"].values() if value), default=0.0)
    if limits.gain is not None and gain > limits.gain:
        yield f"up to {gain:.1%} of cells read beyond guessing; allowed are {limits.gain:.1%}"


def said(cell: dict[str, Any]) -> str:
    """A cell in one line: its choice, then the attack."""
    return f"{_joined(tuple(cell.get(name, '') for name in _CHOICE))}, {cell['attack']}"


def _joined(key: tuple[Any, ...]) -> str:
    dataset, protocol, model, batch_size, defense, variant, point = key
    parts = [str(dataset), str(protocol), str(model), f"batch {batch_size}"]
    parts += [str(part) for part in (defense, variant, point) if part not in ("", "none")]
    return ", ".join(parts)


def _upper(interval: dict[str, float | None] | None) -> float:
    """The upper end; the mean where only one batch has this number."""
    if interval is None:
        return 0.0
    high = interval["high"] if interval["high"] is not None else interval["mean"]
    return float(high or 0.0)
