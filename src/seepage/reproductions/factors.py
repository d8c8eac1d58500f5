"""What every part of a net does to leakage and to utility: factor tables and rankings of a grid of nets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage.reproductions.facts import net_facts

STRUCTURE = ("hidden_width", "hidden_layers")
MODULES = ("normalization", "activation", "dropout")
UTILITY = ("roc_auc", "f1_macro", "r2")  # of binary, multiclass and regression tasks, as document 002 chooses


@dataclass(frozen=True, kw_only=True)
class Net:
    """One net of a grid at one batch size.

    Args:
        facts: what it is made of.
        leakage: mean over its attacked batches.
        utility: the task's own score at the best validation checkpoint, mean over federations; None if unknown.
    """

    dataset: str
    batch_size: int
    facts: Mapping[str, str]
    leakage: float
    utility: float | None = None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Nets that are the same in some parts: the mean over the others."""

    parts: Mapping[str, str]
    nets: tuple[Net, ...]

    @property
    def leakage(self) -> float:
        """Mean leakage."""
        return sum(net.leakage for net in self.nets) / len(self.nets)

    @property
    def utility(self) -> float | None:
        """Mean utility of the nets of which it is known."""
        known = [net.utility for net in self.nets if net.utility is not None]
        return sum(known) / len(known) if known else None


def nets_of(
    cells: Sequence[dict[str, Any]],
    utility: Sequence[dict[str, Any]] = (),
    *,
    metric: str = "accuracy",
    point: str = "final",
) -> list[Net]:
    """The nets of a summary's cells at one attack point; cells without a number are left out.

    Example:
        >>> cell = {"dataset": "d", "batch_size": 8, "model": "mlp", "attack_point": "final", "variant": ""}
        >>> nets_of([cell | {"metrics": {"accuracy": {"mean": 0.5}}}])[0].leakage
        0.5
    """
    found = []
    for cell in cells:
        value = cell["metrics"].get(metric)
        if cell["attack_point"] != point or value is None:
            continue
        scores = [score for entry in utility if _same(entry, cell) and (score := _score(entry)) is not None]
        found.append(
            Net(
                dataset=cell["dataset"],
                batch_size=cell["batch_size"],
                facts=net_facts(cell["model"]),
                leakage=value["mean"],
                utility=sum(scores) / len(scores) if scores else None,
            )
        )
    return found


def groups(nets: Sequence[Net], parts: Sequence[str]) -> list[Group]:
    """Nets with the same parts together, in the order in which they come."""
    found: dict[tuple[str, ...], list[Net]] = {}
    for net in nets:
        found.setdefault(tuple(net.facts[part] for part in parts), []).append(net)
    return [Group(parts=dict(zip(parts, levels, strict=True)), nets=tuple(same)) for levels, same in found.items()]


def factor_table(nets: Sequence[Net], factors: Sequence[str]) -> list[Group]:
    """Every level of every factor by itself, over all other parts."""
    return [group for factor in factors for group in groups(nets, [factor])]


def ranking(nets: Sequence[Net], parts: Sequence[str] = MODULES) -> list[Group]:
    """Combinations of parts from the least leakage to the most."""
    return sorted(groups(nets, parts), key=lambda group: group.leakage)


def best(nets: Sequence[Net]) -> list[Net]:
    """Nets from the most useful to the least; those of unknown utility are left out."""
    return sorted((net for net in nets if net.utility is not None), key=lambda net: -(net.utility or 0.0))


def _same(entry: dict[str, Any], cell: dict[str, Any]) -> bool:
    keys = ("dataset", "model", "batch_size", "variant")
    return entry["attack_point"] == "best" and all(entry[key] == cell[key] for key in keys)


def _score(entry: dict[str, Any]) -> float | None:
    scores: Mapping[str, float | None] = entry["validation"]
    return next((scores[name] for name in UTILITY if name in scores), None)
