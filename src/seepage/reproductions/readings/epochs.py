"""How training went: the validation loss after some epochs of fine-tuning."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.training import TrainingResult

EPOCH = "epoch/fine-tuning/"  # and the epoch, from 0
SHOWN = (1, 2, 5, 10, 20, 40, 60)


def read_epochs(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each design and each of these epochs that it was trained for."""
    for cell in result.cells:
        if not isinstance(cell, TrainingResult):
            continue
        for value in cell.values:
            if not value.scope.startswith(EPOCH):
                continue
            epoch = int(value.scope.removeprefix(EPOCH)) + 1
            if epoch in SHOWN:
                told = {"epoch": str(epoch)}
                number = Interval(value.mean, value.low, value.high)
                beside = result.beside(cell, "valid_loss", told=told)
                yield result.compare(cell, "valid_loss", number, beside, place=result.place(cell) | told)
