"""Numbers that papers print, each with its table: facts, with where they are from."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from seepage._core import unknown_name

PAPERS = {
    "tableak": "Vero et al., TabLeak: Tabular Data Leakage in Federated Learning, ICML 2023 (document 000)",
    "cafe": "Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021 (document 001)",
    "profiling": "the profiling study of 2026 (document 002)",
    "property": "multi-class property inference, a thesis (document 003)",
    "tabvfl": "TabVFL, a thesis (document 004)",
}
_FILES = {"property": "property_inference"}
_UNTOLD = {"n_clients", "n_seeds", "rank"}  # settings that do not choose a cell of a table


@dataclass(frozen=True)
class Published:
    """One number of a paper.

    Args:
        setting: what stands behind it, by name.
        spread: its standard deviation, where the paper has one.
    """

    table: str
    dataset: str
    model: str
    method: str
    setting: dict[str, str]
    metric: str
    value: float
    spread: float | None
    unit: str
    note: str


@lru_cache
def published(paper: str) -> tuple[Published, ...]:
    """Every number of a paper."""
    if paper not in PAPERS:
        raise unknown_name("paper", paper, PAPERS)
    text = resources.files(__package__).joinpath("published", f"{_FILES.get(paper, paper)}.csv").read_text()
    return tuple(
        Published(
            table=row["table"].removeprefix("Table "),
            dataset=row["dataset"],
            model=row["model"],
            method=row["method"],
            setting=dict(part.split("=", 1) for part in row["setting"].split(";") if "=" in part),
            metric=row["metric"],
            value=_number(row["value"]),
            spread=_number(row["std"]) if row["std"] else None,
            unit=row["unit"],
            note=row["note"],
        )
        for row in csv.DictReader(text.splitlines())
    )


def find(
    numbers: Sequence[Published], table: str, *, method: str, metric: str, dataset: str | None = None, **setting: str
) -> Published | None:
    """The number of a cell, or None where the paper has none."""
    for each in numbers:
        if (each.table, each.method, each.metric) != (table, method, metric) or dataset not in (None, each.dataset):
            continue
        if all(each.setting.get(name) == value for name, value in setting.items()):
            return each
    return None


def beside(
    numbers: Sequence[Published],
    table: str,
    facts: Mapping[str, str],
    *,
    dataset: str,
    method: str,
    metric: str,
    model: str | None = None,
) -> Published | None:
    """The number all of whose settings are among the facts of our cell, or None where the paper has none."""
    for each in numbers:
        if (each.table, each.dataset, each.method, each.metric) != (table, dataset, method, metric):
            continue
        if model not in (None, each.model):
            continue
        if all(facts.get(name) == value for name, value in each.setting.items() if name not in _UNTOLD):
            return each
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # a range or a word
