"""What every part of a net does to leakage and to utility: factor tables and rankings of a grid of nets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.readings.grouping import mean_over, together
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.rows import RowsResult, RowsSummary, Utility

STRUCTURE = ("hidden_width", "hidden_layers")
MODULES = ("normalization", "activation", "dropout")
PARTS = (*STRUCTURE, *MODULES)
SCORES = ("roc_auc", "f1_macro", "r2")  # of binary, multiclass and regression tasks, as the profiling study chooses
BEST = 5  # nets that are told even where the paper has none of them


@dataclass(frozen=True, kw_only=True, eq=False)
class Net:
    """One net of a grid at one batch size.

    Args:
        cell: its cell after the training.
        parts: what it is made of, in the paper's words.
        utility: the task's own score at the best validation checkpoint, mean over federations; None if unknown.
        score: which score that is.
    """

    cell: RowsResult
    parts: Mapping[str, str]
    utility: float | None
    score: str

    @property
    def leakage(self) -> float | None:
        """Cells that were read; None where the attack failed."""
        number = self.cell.metrics.get("accuracy")
        return None if number is None else number.mean


def read_factors(result: PlanResult) -> Iterator[Comparison]:
    """Leakage and utility for each level of the table's factors, over all other parts of the nets."""
    for nets in _grids(result):
        for factor in result.table.factors:
            for same in together(nets, lambda net: net.parts[factor]):  # noqa: B023 (used at once)
                yield from _group(result, same, [factor], {})


def read_modules(result: PlanResult) -> Iterator[Comparison]:
    """Combinations of modules from the least leakage to the most."""
    for nets in _grids(result):
        groups = together(nets, lambda net: tuple(net.parts[name] for name in MODULES))
        for place, same in enumerate(sorted(groups, key=_leakage), start=1):
            yield from _group(result, same, MODULES, {"rank": str(place)})


def read_utility(result: PlanResult) -> Iterator[Comparison]:
    """The most useful nets, ours and the paper's, with their rank here. All attacks see the same nets."""
    grids = _grids(result)
    for nets in [nets for nets in grids if nets[0].cell.attack == grids[0][0].cell.attack]:
        known = sorted((net for net in nets if net.utility is not None), key=lambda net: -(net.utility or 0.0))
        for rank, net in enumerate(known, start=1):
            metric = _SCORE_NAMES[net.score]
            beside = result.beside(net.cell, metric, method="-")
            if beside is None and rank > BEST:
                continue
            place = _place(result, net, "data", "batch") | dict(net.parts) | {"rank": f"{rank} of {len(known)}"}
            if beside is not None:
                place |= {"rank in the paper": beside.setting.get("rank", "")}
            number = Interval(net.utility or 0.0, None, None)
            yield result.compare(net.cell, metric, number, beside, place=place)


_SCORE_NAMES = {"roc_auc": "val_roc_auc", "f1_macro": "val_macro_f1", "r2": "val_r2"}


def _grids(result: PlanResult) -> list[list[Net]]:
    """The nets of each data set, batch size and attack, after the training."""
    assert isinstance(result.summary, RowsSummary)
    cells = [each for each in result.cells if isinstance(each, RowsResult) and each.attack_point == "final"]
    nets = [_net(result, cell, result.summary.utility) for cell in cells]
    return together(nets, lambda net: (net.cell.dataset, net.cell.batch_size, net.cell.attack))


def _net(result: PlanResult, cell: RowsResult, utility: Sequence[Utility]) -> Net:
    behind = result.behind(cell)
    words = {name: result.paper.settings[name] for name in PARTS}
    best = [
        entry.validation
        for entry in utility
        if (entry.attack_point, entry.dataset, entry.model, entry.batch_size, entry.variant)
        == ("best", cell.dataset, cell.model, cell.batch_size, cell.variant)
    ]
    score = next((name for name in SCORES if any(name in scores for scores in best)), SCORES[0])
    number, _ = mean_over(scores.get(score) for scores in best)
    return Net(
        cell=cell,
        parts={name: word.spoken(behind.get(word.of)) or "" for name, word in words.items()},
        utility=None if number is None else number.mean,
        score=score,
    )


def _group(
    result: PlanResult, nets: Sequence[Net], names: Sequence[str], more: Mapping[str, str]
) -> Iterator[Comparison]:
    """A group's leakage beside the paper's, and its utility, which the paper does not give."""
    first, told = nets[0], {name: nets[0].parts[name] for name in names}
    place = (
        _place(result, first, "data", "batch", "attack")
        | {name.replace("_", " "): value for name, value in told.items()}
        | dict(more)
    )
    beside = result.beside(first.cell, "accuracy", told=told, hidden=PARTS)
    number, count = mean_over(net.leakage for net in nets)
    yield result.compare(first.cell, "accuracy", number, beside, place=place, trials=count)
    useful, known = mean_over(net.utility for net in nets)
    if useful is not None:
        yield result.compare(first.cell, "utility", useful, None, place=place, trials=known)


def _place(result: PlanResult, net: Net, *names: str) -> dict[str, str]:
    own = result.place(net.cell)
    return {name: own[name] for name in names if name in own}


def _leakage(nets: Sequence[Net]) -> float:
    number, _ = mean_over(net.leakage for net in nets)
    return float("inf") if number is None else number.mean
