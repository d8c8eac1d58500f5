"""How fast the store is, and the report of a large run.

The task: 100,000 records (1,000 cells of 100 attacked batches, 15 columns each) are written, asked for the mean
accuracy of every cell, summarised, and shown. The limits we keep: 5,000 records a second, a query in 1 s, a report in
10 s and 15 MB. `synced_ms` is what a cell of 100 batches waits for the disk. `ratio` is how many times faster writing
is than a plain reference in the same run: one JSON line for each record, flushed cell by cell.

    python benchmarks/store.py [--quick] --json
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl

from seepage._core import files
from seepage._core.files import Disk
from seepage.report import render
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, Measure, Record, RowsCell, Run
from seepage.results.facts import ColumnFacts, Dataset, ThreatModel
from seepage.results.rows import RowsResult, RowsSummary, rows_results

COLUMNS = tuple(ColumnFacts(name=f"column {i}", kind="numeric", sensitive=i == 3) for i in range(15))
METRICS = ("exact", "accuracy", "accuracy_num", "accuracy_cat", "emr", "emr_90", "emr_80", "rmse", "nearest_distance")


class Timed(Disk):
    """A disk that knows how long it was waited for."""

    seconds = 0.0

    def sync(self, path: Path) -> None:
        begin = time.perf_counter()
        super().sync(path)
        self.seconds += time.perf_counter() - begin


def cells_of(count: int) -> list[RowsCell]:
    """A grid as a study has it."""
    attacks, models, sizes = ("exact", "fast"), ("mlp", "resnet", "ft_transformer", "tabnet", "linear"), (1, 4, 16, 64)
    every = [
        RowsCell(
            dataset="adult", protocol="fedsgd", model=model, batch_size=size, attack_point=point, attack=attack,
            variant=f"seed={seed}",
        )
        for seed in range(-(-count // 80))
        for model in models
        for size in sizes
        for point in ("initialized", "final")
        for attack in attacks
    ]  # fmt: skip
    return every[:count]


def records_of(cell: RowsCell, trials: int, generator: np.random.Generator) -> list[Record]:
    measures = [Measure(source, column.name, "accuracy") for source in (ATTACK, *BASELINES) for column in COLUMNS]
    measures += [Measure(source, ALL_COLUMNS, metric) for source in (ATTACK, *BASELINES) for metric in METRICS]
    values = generator.random((trials, len(measures)))
    near = {measure.source: values[:, place] for place, measure in enumerate(measures) if measure.metric == "emr"}
    for place, measure in enumerate(measures):
        if measure.metric == "exact":  # what is exact is near, too
            values[:, place] = near[measure.source] / 2
    return [
        Record(
            cell=cell, repeat=trial // 10, client=trial % 10, round=0, exposure=0.0, rows=8, outcome="ok", seconds=0.1,
            values=dict(zip(measures, values[trial].tolist(), strict=True)),
        )
        for trial in range(trials)
    ]  # fmt: skip


def plain(path: Path, batches: list[list[Record]]) -> float:
    """Seconds for one JSON line a record."""
    begin = time.perf_counter()
    with path.open("w") as stream:
        for records in batches:
            for record in records:
                values = [asdict(measure) | {"value": value} for measure, value in record.values.items()]
                line = asdict(record.cell) | {"repeat": record.repeat, "client": record.client, "values": values}  # type: ignore[call-overload]
                stream.write(json.dumps(line) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    return time.perf_counter() - begin


def summary_of(cells: tuple[RowsResult, ...]) -> RowsSummary:
    """A summary around the cells."""
    return RowsSummary(
        name="benchmark",
        seed=0,
        versions={},
        settings={},
        command="",
        dataset=Dataset(name="adult", rows=32561, target="income", task="binary", columns=COLUMNS),
        threat_model=ThreatModel(),
        cells=cells,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 cells")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    count, trials = (100 if arguments.quick else 1000), 100
    generator = np.random.default_rng(0)
    files.disk = disk = Timed()
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "run", {})
        writing, names = 0.0, []
        every = cells_of(count)
        for cell in every:
            records = records_of(cell, trials, generator)
            begin = time.perf_counter()
            names.append(run.add(records)[0])
            writing += time.perf_counter() - begin
        sample = [records_of(cell, trials, generator) for cell in every[:10]]
        reference = plain(Path(folder) / "plain.jsonl", sample) / (10 * trials)
        begin = time.perf_counter()
        whole = (pl.col("source") == ATTACK) & (pl.col("scope") == ALL_COLUMNS) & (pl.col("metric") == "accuracy")
        asked = (
            run.frame().filter(whole).group_by("model", "batch_size", "variant").agg(pl.col("value").mean()).collect()
        )
        query = time.perf_counter() - begin
        assert asked.height > 0
        begin = time.perf_counter()
        summary = summary_of(rows_results(run.trials(names), COLUMNS))
        summarising = time.perf_counter() - begin
        begin = time.perf_counter()
        page = render(summary)
        rendering = time.perf_counter() - begin
        size = sum(file.stat().st_size for file in (run.path / "records").iterdir())
    measured: dict[str, float | dict[str, int]] = {
        "records_per_second": round(count * trials / writing),
        "ratio": round(reference / (writing / (count * trials)), 2),
        "synced_ms": round(1000 * disk.seconds / count, 2),
        "query_seconds": round(query, 3),
        "summary_seconds": round(summarising, 2),
        "report_seconds": round(rendering, 2),
        "report_mb": round(len(page.encode()) / 1e6, 2),
        "store_mb": round(size / 1e6, 1),
        "settings": {"cells": count, "batches": trials, "numbers": len(records[0].values)},
    }
    print(json.dumps(measured, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
