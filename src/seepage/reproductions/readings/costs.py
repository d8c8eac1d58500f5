"""Seconds, megabytes and memory of a training, for as many epochs and as large batches as the paper has."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.training import TrainingResult

EPOCHS, BATCH = 100, 4096  # of TabVFL's seconds and bytes
TRAINED = 0.7  # share of the rows that is trained on
_PHASES = {"pretraining": "pretraining", "fine-tuning": "finetuning"}


def read_costs(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each design and cost; nothing is said of what a design does not send."""
    for cell in result.cells:
        if not isinstance(cell, TrainingResult):
            continue
        most = int(result.settings_of(cell).run.model_dump()["rows"])
        rows = min(result.summary.dataset.rows, most)
        for metric, value in costs(cell, rows).items():
            if value:
                sent = metric.startswith("network")
                told = {"batch_size": str(BATCH), "iterations": "1"} if sent else {"epochs": str(EPOCHS)}
                beside = result.beside(cell, metric, told=told)
                yield result.compare(cell, metric, Interval(value, None, None), beside)


def costs(cell: TrainingResult, rows: int) -> dict[str, float]:
    """Seconds of as many epochs as the paper has, megabytes of a batch as large as its, gigabytes."""
    numbers: dict[str, float] = {}
    for phase, word in _PHASES.items():
        epochs = cell.mean(f"cost/{phase}", "epochs") or 0.0
        sent = sum(value.mean for value in cell.values if value.scope == f"bytes/{phase}")
        seconds = cell.mean(f"cost/{phase}", "seconds") or 0.0
        numbers[f"runtime_{word}"] = EPOCHS * seconds / max(epochs, 1)
        numbers[f"network_{word}"] = BATCH * sent / max(epochs * round(TRAINED * rows), 1) / 1e6
    numbers["runtime_total"] = numbers["runtime_pretraining"] + numbers["runtime_finetuning"]
    numbers["memory"] = (cell.mean("cost", "memory_mb") or 0.0) / 1024
    return numbers
