"""The training loss with defended gradients, and what is read of them while the weights stay as they are."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult, number_of
from seepage.reproductions.readings.curves import batches_shown, published_batches
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.vertical import VerticalResult, VerticalSummary


def read_losses(result: PlanResult) -> Iterator[Comparison]:
    """For each defence its losses beside the paper's, and the table's metrics, which the paper does not have."""
    assert isinstance(result.summary, VerticalSummary)
    for cell in result.cells:
        assert isinstance(cell, VerticalResult)
        yield from _losses(result, cell, result.summary)
        for ours, theirs in result.table.metrics.items():
            yield result.compare(cell, theirs, number_of(cell, ours), None)


def _losses(result: PlanResult, cell: VerticalResult, summary: VerticalSummary) -> Iterator[Comparison]:
    published = published_batches(result, cell)
    where = (cell.dataset, cell.model, cell.defense, cell.batch_size, cell.variant)
    place = {name: value for name, value in result.place(cell).items() if name not in ("attack", "batches")}
    for entry in summary.losses:
        if (entry.dataset, entry.model, entry.defense, entry.batch_size, entry.variant) != where:
            continue
        for batches, loss in entry.points:
            there = published.get(batches, batches)
            beside = result.beside(cell, "train_loss", told={"iterations": str(there)})
            own = place | {"batches": batches_shown(batches, there)}
            ours = None if loss is None else Interval(loss, None, None)
            yield result.compare(cell, "train_loss", ours, beside, place=own, trials=1)
