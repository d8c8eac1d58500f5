"""What a recorder and a guard cost a round, against the same rounds without them.

    python benchmarks/integrations.py [--quick] --json

A round has 10 clients, each of which trains a net of a million weights; strategies and client apps are Flower's own,
messages go from hand to hand in one process, so that nothing but training stands beside what is measured. A real round
also waits for processes and network, several seconds: the shares here are the most that it can be.

`recorder_share` is how much longer a recorded round takes, the median over pairs of rounds run in turn; writing goes on
beside the next round, so every run has several. `recorder_held_up` is the part of a round during which the training
waited for the recorder itself. `recorder_behind` is how long writing goes on after the last round.
`guard_counting_ms` is one look in counting mode at an update of that net, the first and the median of 200 more.
`guard_budget` is the time that a look takes as a share of its budget, where an attack does not end by itself.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg
from tests.integrations.near import Near
from torch import nn

from seepage.data import Encoder
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.integrations import flower
from seepage.integrations.guarding import Guard
from seepage.integrations.recording import Recorder

CLIENTS, WIDTH, ROWS, BATCH = 10, 960, 512, 64


def net() -> nn.Module:
    """A million weights."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(100, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))


def client(number: int, epochs: int) -> ClientApp:
    """Trains on rows of its own."""
    app, drawn = ClientApp(), torch.Generator().manual_seed(number)
    x, y = torch.randn(ROWS, 100, generator=drawn), torch.rand(ROWS, 1, generator=drawn).round()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        own = net()
        own.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(own.parameters(), lr=0.01)
        for _ in range(epochs):
            for rows, labels in zip(x.split(BATCH), y.split(BATCH), strict=True):
                optimiser.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(own(rows), labels).backward()
                optimiser.step()
        metrics = MetricRecord({"num-examples": ROWS})
        return Message(RecordDict({"arrays": ArrayRecord(own.state_dict()), "metrics": metrics}), reply_to=message)

    return app


class Held:
    """Adds up the time that a training waits for a recorder."""

    seconds = 0.0

    @classmethod
    def around(cls, method: Any) -> Any:
        def timed(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*given, **named)
            finally:
                cls.seconds += time.perf_counter() - began

        return timed


def rounds(apps: list[ClientApp], count: int, folder: Path | None) -> tuple[float, float]:
    """Seconds of a round, and those that pass after the last one until everything is written."""
    strategy = FedAvg(fraction_evaluate=0.0)
    if folder is not None:
        facts = {"batch_size": BATCH, "local_epochs": 1, "learning_rate": 0.01}
        strategy = flower.record(strategy, folder, **facts)
    ends: list[float] = []
    aggregate = strategy.aggregate_train

    def noted(*given: Any, **named: Any) -> Any:
        found = aggregate(*given, **named)
        ends.append(time.perf_counter())
        return found

    strategy.aggregate_train = noted  # type: ignore[method-assign]
    random.seed(0)
    began = time.perf_counter()
    strategy.start(grid=Near(apps), initial_arrays=ArrayRecord(net().state_dict()), num_rounds=count)
    return (ends[-1] - began) / count, time.perf_counter() - ends[-1]


def recorder(pairs: int, count: int, epochs: int) -> dict[str, float]:
    """A recorded training against a plain one."""
    for name in ("sent", "received"):
        setattr(Recorder, name, Held.around(getattr(Recorder, name)))
    apps = [client(number, epochs) for number in range(CLIENTS)]
    rounds(apps, 1, None)
    shares, plain, behind = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            order = [None, Path(folder) / str(pair)]
            found = {place is not None: rounds(apps, count, place) for place in (order if pair % 2 else order[::-1])}
            shares.append(found[True][0] / found[False][0] - 1)
            plain.append(found[False][0])
            behind.append(found[True][1])
        written = sum(file.stat().st_size for file in Path(folder).rglob("*.safetensors"))
    return {
        "round_seconds": round(statistics.median(plain), 3),
        "recorder_share": round(statistics.median(shares), 4),
        "recorder_share_lowest": round(min(shares), 4),
        "recorder_share_highest": round(max(shares), 4),
        "recorder_held_up": round(Held.seconds / (pairs * count) / statistics.median(plain), 6),
        "recorder_behind_seconds": round(statistics.median(behind), 3),
        "recorder_megabytes_a_round": round(written / pairs / count / 1e6, 1),
    }


def wide(inputs: Any) -> nn.Module:
    """A million weights for a table."""
    return nn.Sequential(
        nn.Linear(inputs.width, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, inputs.outputs)
    )


def narrow(inputs: Any) -> nn.Module:
    """TabLeak's net."""
    return nn.Sequential(
        nn.Linear(inputs.width, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, inputs.outputs)
    )


def update(source: Source, build: Any, count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights before and after one step on so many rows."""
    encoder = Encoder(schema=source.table.schema, categories="onehot")
    rows = source.table.take(range(count))  # type: ignore[arg-type]
    made = build(type("Inputs", (), {"width": encoder.layout.width, "outputs": 1}))
    before = {name: value.clone() for name, value in made.state_dict().items()}
    x = torch.from_numpy(encoder.encode(rows, encoder.statistics(rows))).float()
    target = torch.from_numpy(rows.target).float()
    nn.functional.binary_cross_entropy_with_logits(made(x)[:, 0], target).backward()
    with torch.no_grad():
        for value in made.parameters():
            value -= 0.01 * value.grad
    return before, made.state_dict()


def guard(budgets: tuple[float, ...]) -> dict[str, Any]:
    """A look at an update, in both modes."""
    source = open_source(Request(data="clinic"))
    before, after = update(source, wide, 64)
    facts = {"batch_size": 64, "local_epochs": 1, "learning_rate": 0.01}
    counting = Guard(model=wide, schema=source.table.schema, facts=facts)
    looks = [counting.check(lambda: before, lambda: after, rows=64).seconds for _ in range(201)]
    found: dict[str, Any] = {
        "guard_counting_first_ms": round(1000 * looks[0], 3),
        "guard_counting_ms": round(1000 * statistics.median(looks[1:]), 4),
    }
    many = 48  # rows that keep `exact` busy for longer than any of the budgets
    before, after = update(source, narrow, many)
    rows = source.table.take(range(many)).to_frame()  # type: ignore[arg-type]
    for budget in budgets:
        attacking = Guard(
            model=narrow,
            schema=source.table.schema,
            facts={**facts, "batch_size": many},
            attack_seconds=budget,
            rows=rows,
            attacks=("gradient_matching:steps=1000000",),
        )
        seconds = attacking.check(lambda: before, lambda: after, rows=many).seconds
        found[f"guard_budget_{budget:g}s"] = round(seconds / budget, 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in ("flwr", "seepage.guard"):
        logging.getLogger(name).setLevel(logging.ERROR)
    found = guard((2.0,) if asked.quick else (2.0, 5.0, 10.0))
    found |= recorder(3, 3, 4) if asked.quick else recorder(7, 5, 4)
    print(json.dumps(found) if asked.json else "\n".join(f"{name}: {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
