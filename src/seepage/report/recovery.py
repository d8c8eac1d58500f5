"""Vertical learning, explained: how the server separates people, how far it got, and what each defence costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage.report import words
from seepage.report.verdict import Leak


@dataclass(frozen=True)
class Reading:
    """How far one attack got in one setting."""

    number: int
    label: str
    determined: float | None
    psnr: float | None
    seconds: float
    note: str


@dataclass(frozen=True)
class Losses:
    """Training with one defence: batches seen, and the loss then."""

    label: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class RecoveryView:
    """The section of the page."""

    people: int
    batches: int
    readings: tuple[Reading, ...]
    losses: tuple[Losses, ...]
    sentence: str


def gather_recovery(document: Mapping[str, Any], leaks: Sequence[Leak]) -> RecoveryView | None:
    """What the page says about vertical learning; nothing for other protocols."""
    facts = document.get("vertical")
    if not facts:
        return None
    readings = tuple(
        Reading(
            number=leak.number,
            label=leak.label,
            determined=_mean(entry, "determined"),
            psnr=_mean(entry, "psnr"),
            seconds=leak.seconds,
            note=" ".join(entry.get("notes") or ()),
        )
        for leak, entry in zip(leaks, document["cells"], strict=True)
        if leak.cell.protocol == "vertical"
    )
    entries = facts.get("losses") or []
    varying = [name for name in ("model", "batch_size", "defense") if len({entry[name] for entry in entries}) > 1]
    losses = tuple(
        Losses(_label(entry, varying or ["defense"]), tuple((int(seen), float(loss)) for seen, loss in entry["points"]))
        for entry in entries
    )
    people, batches = int(facts["people"]), int(facts["batches"])
    return RecoveryView(people, batches, readings, losses, _sentence(people, batches))


def _sentence(people: int, batches: int) -> str:
    said = f"The server saw {words.count(batches)} batches of {words.count(people)} people. "
    if batches < people:
        return said + (
            f"That is fewer than there are people, so the equations leave rows open; with {words.count(people)} "
            "batches or more they would not."
        )
    return said + "That is at least one batch for each person, which is what the equations need."


def _label(entry: Mapping[str, Any], varying: Sequence[str]) -> str:
    said = {
        "model": words.spec(entry["model"]),
        "batch_size": words.batches(entry["batch_size"]),
        "defense": "no defence" if entry["defense"] == "none" else words.spec(entry["defense"]),
    }
    return ", ".join(said[name] for name in varying)


def _mean(entry: Mapping[str, Any], metric: str) -> float | None:
    value = words.interval(entry["metrics"].get(metric))
    return value.mean if value else None
