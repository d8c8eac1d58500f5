"""CAFE: the closed form beside the published descent, on pictures and on tables.

    python benchmarks/cafe.py [--quick] --json

`psnr_closed_form` and `psnr_iterative` in decibels (100 is exact to float32), `seconds` of the closed form,
`seconds_iterative` of the single loop, which gets ten times as long. Tables: `emr` is the share of people whose every
cell is right, `determined` the share of rows that so many batches determine. `while training`: the same with Adam at
1e-3 and one batch for two people, by spans and by the closed form with a window as its plain reference; `ratio` is rows
by spans for each row of the closed form (at least one is counted).
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from seepage._core import Streams
from seepage.attacks.vertical.cafe import Cafe, CafeState
from seepage.attacks.vertical.closed_form import ClosedForm
from seepage.attacks.vertical.spans import Spans
from seepage.data import Encoder, Layout, Statistics, Table
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.federation.vertical.shared import SharedLayers
from seepage.metrics import psnr
from seepage.models import Learner, make_learner, scoped_randomness, tableak_mlp
from seepage.observation import Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate
from seepage.studies.vertical.workers import drawn

TOLERANCE = 0.319


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the rows, no large table")
    parser.add_argument("--large", action="store_true", help="also 10,000 people")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    options = parser.parse_args()
    rows = 200 if options.quick else 800
    document: dict[str, object] = {"benchmark": "cafe", "threads": torch.get_num_threads()}
    for neurons in (256,) if options.quick else (256, 1024):
        document[f"pictures, 784 -> {neurons}"] = pictures(rows, neurons)
    people = 400 if options.quick else 2000
    document["adult"] = tables(people, 100 if not options.quick else 40)
    for batch in (20,) if options.quick else (20, 32, 100):
        document[f"adult while training, batches of {batch}"] = training(people, batch)
    if options.large:
        document["adult, 10,000 people"] = tables(10_000, 100, curve=False)
    print(json.dumps(document, indent=2))


def digits(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels between 0 and 1, and what they show."""
    table = drawn(open_source(Request(data="mnist_5k")).table, rows, np.random.default_rng(0))
    return torch.from_numpy(table.numbers.astype(np.float32)), torch.from_numpy(table.target)


def pictures(rows: int, neurons: int, batch: int = 40) -> dict[str, float]:
    """Digits, fixed weights, a fully connected net."""
    x, y = digits(rows)
    with scoped_randomness(0):
        net = nn.Sequential(nn.Linear(784, neurons), nn.Sigmoid(), nn.Linear(neurons, 10))
    learner = Learner(net, "multiclass")
    scene = VerticalScene(learner=learner, rows=rows, batch_size=batch, space=Space(layout=Layout(784, ())))

    def stream(count: int, seed: int) -> Iterator[VerticalUpdate]:
        return SharedLayers(batch_size=batch).stream(learner, x, y, count, Streams(seed))

    spent = 0.0
    solver = ClosedForm().start(scene)
    for update in stream(round(1.125 * rows), 0):
        begin = time.perf_counter()
        solver.see(update)
        spent += time.perf_counter() - begin
    begin = time.perf_counter()
    found = solver.recover()
    spent += time.perf_counter() - begin
    state, used, count = CafeState(Cafe(), scene, Streams(0)), 0.0, 0
    for update in stream(100_000, 1):
        begin = time.perf_counter()
        state.see(update)
        used += time.perf_counter() - begin
        count += 1
        if used > 10 * spent:
            break
    return {
        "psnr_closed_form": psnr(found.inputs.numpy(), x.numpy()),
        "psnr_iterative": psnr(state.recover().inputs.numpy(), x.numpy()),
        "seconds": spent,
        "seconds_iterative": used,
        "iterations": count,
        "condition": found.condition,
    }


@dataclass(frozen=True, eq=False)
class Adult:
    """People of Adult, and TabLeak's net for them."""

    table: Table
    encoder: Encoder
    statistics: Statistics
    x: torch.Tensor
    learner: Learner

    @classmethod
    def of(cls, people: int) -> Adult:
        source = open_source(Request(data="adult", fallback="clinic"))
        table = drawn(source.table, people, np.random.default_rng(0))
        encoder = Encoder(schema=table.schema)
        statistics = encoder.statistics(table)
        layout = encoder.layout
        learner = make_learner(tableak_mlp(), layout.numeric, layout.sizes, "binary", 2, seed=0)
        return cls(table, encoder, statistics, torch.from_numpy(encoder.encode(table, statistics)), learner)

    def scene(self, batch: int, *, fixed: bool) -> VerticalScene:
        space = Space(layout=self.encoder.layout)
        return VerticalScene(learner=self.learner, rows=len(self.x), batch_size=batch, space=space, fixed=fixed)


def tables(people: int, batch: int, *, curve: bool = True) -> dict[str, object]:
    """Adult: first layer as wide as TabLeak's net, all rows of all people."""
    adult = Adult.of(people)
    table, encoder, statistics, x, learner = adult.table, adult.encoder, adult.statistics, adult.x, adult.learner
    scene = adult.scene(batch, fixed=True)
    solver, spent = ClosedForm().start(scene), 0.0
    points = {round(share * people) for share in (0.5, 0.9, 0.98, 1.0, 1.02)} if curve else set()
    determined: dict[str, float] = {}
    count = round(1.1 * people)
    updates = SharedLayers(batch_size=batch).stream(learner, x, torch.from_numpy(table.target), count, Streams(0))
    for number, update in enumerate(updates, start=1):
        begin = time.perf_counter()
        solver.see(update)
        spent += time.perf_counter() - begin
        if number in points:
            determined[f"{number / people:.2f} batches per person"] = float(solver.recover().determined.double().mean())
    begin = time.perf_counter()
    found = solver.recover()
    spent += time.perf_counter() - begin
    return {
        "people": people,
        "emr": exact(encoder, found.inputs.numpy(), table, statistics),
        "psnr_closed_form": psnr(found.inputs.numpy(), x.numpy()),
        "seconds": spent,
        "determined": determined,
        "memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2,
    }


def training(people: int, batch: int) -> dict[str, float]:
    """Adult while the model trains with Adam, one batch for two people."""
    adult = Adult.of(people)
    table, encoder, statistics, x, learner = adult.table, adult.encoder, adult.statistics, adult.x, adult.learner
    scene = adult.scene(batch, fixed=False)
    reader, solver, spent = Spans().start(scene), ClosedForm(window=people // 2).start(scene), 0.0
    protocol = SharedLayers(batch_size=batch, rate=1e-3, adam=True)
    for update in protocol.stream(learner, x, torch.from_numpy(table.target), people // 2, Streams(0)):
        begin = time.perf_counter()
        reader.see(update)
        spent += time.perf_counter() - begin
        solver.see(update)
    begin = time.perf_counter()
    found, certified = reader.recover()
    spent += time.perf_counter() - begin
    rows = exact(encoder, found.inputs.numpy(), table, statistics)
    by_closed_form = exact(encoder, solver.recover().inputs.numpy(), table, statistics)
    return {
        "emr": rows,
        "certified": float(certified.double().mean()),
        "emr_closed_form": by_closed_form,
        "ratio": rows / max(by_closed_form, 1 / people),
        "seconds": spent,
    }


def exact(encoder: Encoder, claimed: np.ndarray, table: Table, statistics: object) -> float:
    """The share of people whose every cell is right."""
    numbers, codes = encoder.decode(np.nan_to_num(claimed), statistics)  # type: ignore[arg-type]
    near = np.abs(numbers - table.numbers) <= TOLERANCE * table.numbers.std(0)
    return float((near.all(1) & (codes == table.codes).all(1)).mean())


if __name__ == "__main__":
    main()
