"""Other ways to read the cells of a plan than one by one: means over cells, factors, rankings, buckets of doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from seepage.plans.spec import Spec
from seepage.reproductions import factors
from seepage.reproductions.factors import Net
from seepage.reproductions.from_plan import Outcome
from seepage.reproductions.line import Line, line
from seepage.reproductions.published import Published

_PARTS = {*factors.STRUCTURE, *factors.MODULES}  # what a single net has and a group of nets has not
_SCORES = {"Adult": "val_roc_auc", "MIMIC-IV": "val_roc_auc", "California Housing": "val_r2"}


def by_baseline(outcome: Outcome) -> Iterator[Line]:
    """The baselines alone, over all models and attack points of a batch size."""
    for same in _together(outcome.summary.cells, ("dataset", "batch_size")):
        first = same[0]
        for ours, theirs in outcome.table.names.guesses.items():
            values = [cell["baselines"][ours]["mean"] for cell in same if cell["baselines"][ours] is not None]
            found = outcome.beside(first, {"batch_size": str(first["batch_size"])}, theirs, "accuracy")
            said = f"{first['dataset']}, batch {first['batch_size']}, {theirs}"
            yield from _mean(outcome, first, said, "accuracy", values, found)


def over_batch_sizes(outcome: Outcome) -> Iterator[Line]:
    """Means over batch sizes for each model, attack and attack point."""
    for same in _together(outcome.summary.cells, ("dataset", "model", "attack", "attack_point")):
        first = same[0]
        facts = outcome.facts(first) | {"batch_size": "1..128"}
        method = outcome.table.names.methods[Spec.read(first["attack"]).name]
        said = f"{facts['parameterization'].replace('_', ' ')}, dropout {facts.get('target_dropout', '-')}"
        for ours, theirs in outcome.table.metrics.items():
            values = [cell["metrics"][ours]["mean"] for cell in same if cell["metrics"].get(ours) is not None]
            yield from _mean(outcome, first, said, theirs, values, outcome.beside(first, facts, method, theirs))


def by_factor(names: Sequence[str]) -> Callable[[Outcome], Iterator[Line]]:
    """Leakage and utility for each level of these factors, over all other parts of the nets."""

    def read(outcome: Outcome) -> Iterator[Line]:
        for first, nets in _nets(outcome):
            for group in factors.factor_table(nets, names):
                yield from _group(outcome, first, group, f"batch {first['batch_size']}")

    return read


def by_modules(outcome: Outcome) -> Iterator[Line]:
    """Combinations of modules from the least leakage to the most."""
    for first, nets in _nets(outcome):
        for place, group in enumerate(factors.ranking(nets), start=1):
            yield from _group(outcome, first, group, f"batch {first['batch_size']}, rank {place}")


def by_utility(outcome: Outcome) -> Iterator[Line]:
    """The most useful nets of the paper, with their place here."""
    for first, nets in _nets(outcome):
        metric = _SCORES.get(outcome.table.names.datasets[first["dataset"]], "val_macro_f1")
        ranked = factors.best(nets)
        for place, net in enumerate(ranked, start=1):
            found = outcome.beside(first, outcome.facts(first) | dict(net.facts), "-", metric)
            if (found is not None or place <= 5) and net.utility is not None:
                theirs = "" if found is None else f"; rank {found.setting['rank']} in the paper"
                said = f"batch {net.batch_size}, {_parts(net.facts)}"
                made = line(outcome.table.number, said, metric, [net.utility], found, note=outcome.note(first))
                rank = f"rank {place} of {len(ranked)}{theirs}"
                yield replace(made, note="; ".join(filter(None, (rank, made.note))))


def by_doubt(outcome: Outcome) -> Iterator[Line]:
    """What is right, and how many cells there are, for each range of the attacker's own doubt."""
    for cell in outcome.summary.cells:
        method = outcome.table.names.methods[Spec.read(cell["attack"]).name]
        for kind, short in (("categorical", "cat"), ("numeric", "num")):
            buckets: dict[str, list[dict[str, Any]]] = {}
            for entry in cell["doubt"]:
                if entry["kind"] == kind:
                    buckets.setdefault(_range(entry), []).append(entry)
            total = sum(entry["cells"] for same in buckets.values() for entry in same)
            for name, same in buckets.items():
                count = sum(entry["cells"] for entry in same)
                right = sum(entry["attack"]["mean"] * entry["cells"] for entry in same) / count
                facts = outcome.facts(cell) | {"entropy_bucket": name}
                for metric, value in ((f"accuracy_{short}", right), (f"data_share_{short}", count / total)):
                    found = outcome.beside(cell, facts, method, metric)
                    said = f"{kind}, doubt {name}"
                    made = line(outcome.table.number, said, metric, [100 * value], found, note=outcome.note(cell))
                    yield replace(made, trials=cell["trials"] - cell["failed"])


def _range(entry: dict[str, Any]) -> str:
    """A range as the paper prints it; its lowest one of numbers is several of ours."""
    if entry["kind"] == "categorical":
        return f"{entry['low']:.1f}:{entry['high']:.1f}"
    if entry["high"] is not None and entry["high"] <= 0.72:
        return "-inf:0.72"
    return f"{entry['low']:g}:{'inf' if entry['high'] is None else format(entry['high'], 'g')}"


def _nets(outcome: Outcome) -> Iterator[tuple[dict[str, Any], list[Net]]]:
    for same in _together(outcome.summary.cells, ("dataset", "batch_size")):
        nets = factors.nets_of(same, outcome.summary.utility)
        if nets:
            yield next(cell for cell in same if cell["attack_point"] == "final"), nets


def _group(outcome: Outcome, first: dict[str, Any], group: factors.Group, said: str) -> Iterator[Line]:
    """A group's leakage beside the paper's, and its utility, which the paper does not give."""
    facts = {key: value for key, value in outcome.facts(first).items() if key not in _PARTS} | dict(group.parts)
    method = outcome.table.names.methods[Spec.read(first["attack"]).name]
    words = f"{said}, {_parts(group.parts)}"
    found = outcome.beside(first, facts, method, "accuracy")
    yield from _mean(outcome, first, words, "accuracy", [net.leakage for net in group.nets], found)
    useful = [net.utility for net in group.nets if net.utility is not None]
    yield from _mean(outcome, first, words, "utility", useful, None)


def _parts(parts: Any) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in parts.items())


def _mean(
    outcome: Outcome, cell: dict[str, Any], said: str, metric: str, values: Sequence[float], found: Published | None
) -> Iterator[Line]:
    if values:
        yield line(outcome.table.number, said, metric, values, found, note=outcome.note(cell))


def _together(cells: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Cells with the same values of these keys."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        found.setdefault(tuple(cell[key] for key in keys), []).append(cell)
    return list(found.values())
