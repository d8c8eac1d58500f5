"""A client on our clinic: a plain torch net, rows scaled by its own statistics, one step or epochs of SGD."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch import nn

from seepage.data import Encoder, Schema, Table
from seepage.data.request import Request
from seepage.data.source import open_source


def build(inputs: Any) -> nn.Module:
    """The federation's net."""
    return nn.Sequential(nn.Linear(inputs.width, 48), nn.ReLU(), nn.Linear(48, inputs.outputs))


@cache
def clinic() -> tuple[pl.DataFrame, Schema]:
    source = open_source(Request(data="clinic"))
    return source.table.to_frame(), source.table.schema


def first_net() -> nn.Module:
    torch.manual_seed(0)
    layout = Encoder(schema=clinic()[1], categories="onehot").layout
    return nn.Sequential(nn.Linear(layout.width, 48), nn.ReLU(), nn.Linear(48, 1))


def trained(state: dict[str, torch.Tensor], frame: pl.DataFrame, rate: float = 0.1) -> dict[str, torch.Tensor]:
    """The weights after one step on all rows."""
    schema = clinic()[1]
    encoder, table = Encoder(schema=schema, categories="onehot"), Table.from_frame(frame, schema)
    x = torch.from_numpy(encoder.encode(table, encoder.statistics(table))).float()
    net = first_net()
    net.load_state_dict(state)
    nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], torch.from_numpy(table.target).float()).backward()
    with torch.no_grad():
        for value in net.parameters():
            value -= rate * value.grad
    return net.state_dict()


def client(frame: pl.DataFrame, mods: list[Any] | None = None, told: Callable[[], int] | None = None) -> ClientApp:
    """A client as a quickstart has it."""
    app = ClientApp(mods=mods or [])

    @app.train()
    def train(message: Message, context: Context) -> Message:
        state = trained(message.content["arrays"].to_torch_state_dict(), frame)
        metrics = MetricRecord({"num-examples": told() if told else len(frame)})
        return Message(RecordDict({"arrays": ArrayRecord(state), "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        return Message(RecordDict({"metrics": MetricRecord({"num-examples": len(frame)})}), reply_to=message)

    return app
