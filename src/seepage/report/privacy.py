"""What differential privacy promises the clients, as far as a run states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage.report import words

_TRAINED = ("dataset", "protocol", "model", "batch_size", "defense", "variant")


@dataclass(frozen=True)
class Promise:
    """The guarantee of one choice, over its clients: the lowest and the highest where they differ."""

    label: str
    clients: int
    epsilon: str
    delta: str
    steps: str
    sampling_rate: str


def gather_promises(entries: Sequence[Mapping[str, Any]]) -> tuple[Promise, ...]:
    """One line for each trained choice whose defence promises something, repeats and clients together."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for entry in entries:
        groups.setdefault(tuple(entry.get(name, "") for name in _TRAINED), []).append(entry)
    varying = [i for i in range(len(_TRAINED)) if len({key[i] for key in groups}) > 1]
    shown = sorted({*varying, _TRAINED.index("batch_size"), _TRAINED.index("defense")})
    return tuple(
        Promise(
            label=words.joined(words.said(_TRAINED[i], key[i]) for i in shown),
            clients=len(group),
            epsilon=_epsilon([entry["epsilon"] for entry in group]),
            delta=_span([entry["delta"] for entry in group]),
            steps=_span([entry["steps"] for entry in group]),
            sampling_rate=_span([entry["sampling_rate"] for entry in group]),
        )
        for key, group in groups.items()
    )


def _epsilon(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return _span(known) if len(known) == len(values) else "infinite: nothing is promised"


def _span(values: Sequence[float]) -> str:
    low, high = (f"{end:,.0f}" if end >= 1000 else f"{end:.3g}" for end in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"
