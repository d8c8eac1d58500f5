"""The recorder of Flower: everything is captured as it was sent, and the training never notices."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from torch import nn

from seepage import InputError, captures
from seepage.integrations import flower
from seepage.integrations.flower import record
from seepage.integrations.recording import Bounds
from tests.faults.disk import FaultyDisk, used
from tests.integrations.near import Near

FACTS = {"batch_size": 4, "local_epochs": 1, "learning_rate": 0.1}


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))


def trained(state: dict[str, Any], number: int) -> dict[str, torch.Tensor]:
    """One step of plain SGD on four rows of a client."""
    model = net()
    model.load_state_dict(state)
    drawn = torch.Generator().manual_seed(number)
    x, y = torch.randn(4, 5, generator=drawn), torch.rand(4, 1, generator=drawn).round()
    nn.functional.binary_cross_entropy_with_logits(model(x), y).backward()
    with torch.no_grad():
        for value in model.parameters():
            value -= 0.1 * value.grad
    return model.state_dict()


def client(number: int, change: Any = None) -> ClientApp:
    """A client as Flower's quickstart writes it; ``change`` spoils what it sends."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        state = trained(message.content["arrays"].to_torch_state_dict(), number)
        content = RecordDict({"arrays": ArrayRecord(state), "metrics": MetricRecord({"num-examples": 4, "loss": 0.5})})
        if change is not None:
            change(content)
        return Message(content, reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        return Message(RecordDict({"metrics": MetricRecord({"num-examples": 4})}), reply_to=message)

    return app


def run(strategy: Any, apps: list[ClientApp], rounds: int = 2, *, lazy: bool = False) -> Any:
    grid = Near(apps)
    grid.lazy = lazy
    random.seed(0)  # Flower draws its nodes, and adds up what they send, in this order
    return strategy.start(grid=grid, initial_arrays=ArrayRecord(net().state_dict()), num_rounds=rounds)


def weights(result: Any) -> dict[str, torch.Tensor]:
    return dict(result.arrays.to_torch_state_dict())


@pytest.mark.parametrize("lazy", [False, True], ids=["list", "generator"])
def test_everything_is_captured_and_the_training_is_the_same(tmp_path: Path, lazy: bool) -> None:
    apps = [client(number) for number in range(3)]
    plain = run(FedAvg(), apps, lazy=lazy)
    strategy = FedAvg()
    assert record(strategy, tmp_path / "capture", **FACTS) is strategy
    recorded = run(strategy, apps, lazy=lazy)
    assert all(torch.equal(value, weights(plain)[name]) for name, value in weights(recorded).items())

    capture = captures.read(tmp_path / "capture")
    assert capture.framework is not None
    assert capture.framework.name == "flower"
    assert [entry.round for entry in capture.entries] == [1, 1, 1, 2, 2, 2]
    assert len(capture.clients) == 3
    first = net().state_dict()
    sent = [entry.sent() for entry in capture.entries[:3]]
    for number in range(3):
        own = trained(first, number)
        assert sum(all(np.array_equal(each[name], own[name].numpy()) for name in own) for each in sent) == 1
    for entry in capture.entries[:3]:
        assert all(np.array_equal(value, first[name].numpy()) for name, value in entry.before().items())
        assert entry.facts.rows == 4
        assert entry.facts.learning_rate == 0.1
        assert not entry.facts.missing(entry.kind)


def test_what_all_nodes_are_sent_is_read_once(tmp_path: Path, monkeypatch: Any) -> None:
    read = []
    plain = flower.as_state
    monkeypatch.setattr(flower, "as_state", lambda *given: read.append(1) or plain(*given))
    run(record(FedAvg(fraction_evaluate=0.0), tmp_path / "capture", **FACTS), [client(n) for n in range(4)], rounds=2)
    assert len(read) == 2 * (1 + 4)
    assert len(captures.read(tmp_path / "capture").entries) == 8


def test_names_are_hashed_with_a_salt_that_stays_beside_the_capture(tmp_path: Path) -> None:
    for _ in range(2):
        run(record(FedAvg(), tmp_path / "capture", **FACTS), [client(0), client(1)], rounds=1)
    one, two = captures.read(tmp_path / "capture"), captures.read(tmp_path / "capture-2")
    assert set(one.clients) == set(two.clients)  # a training has a capture of its own; the salt is the same
    salt = (tmp_path / "capture.salt").read_bytes()
    assert len(salt) == 32
    assert (tmp_path / "capture.salt").stat().st_mode & 0o077 == 0
    assert not any(salt in file.read_bytes() for file in (tmp_path / "capture").rglob("*") if file.is_file())
    assert captures.pseudonym("11", salt) in one.clients


@pytest.mark.parametrize(
    ("bounds", "kept", "said"),
    [
        (Bounds(rounds=1), [1, 1], "1 rounds"),
        (Bounds(clients=1), [1, 2, 3], "more than 1 clients"),
        (Bounds(), [1, 1, 2, 2, 3, 3], ""),
    ],
)
def test_bounds_hold(tmp_path: Path, caplog: Any, bounds: Bounds, kept: list[int], said: str) -> None:
    with caplog.at_level(logging.WARNING, "flwr.seepage"):
        run(record(FedAvg(), tmp_path / "capture", bounds=bounds, **FACTS), [client(0), client(1)], rounds=3)
    assert [entry.round for entry in captures.read(tmp_path / "capture").entries] == kept
    own = [each.getMessage() for each in caplog.records if each.name == "flwr.seepage"]
    assert len(own) == bool(said)
    assert all(said in each for each in own)


def test_bytes_are_bounded(tmp_path: Path, caplog: Any) -> None:
    wide = {"weight": np.zeros((600, 200), "float32")}

    def swell(content: RecordDict) -> None:
        content["arrays"] = ArrayRecord({"weight": Array(np.ones((600, 200), "float32"))})

    strategy = record(FedAvg(), tmp_path / "capture", bounds=Bounds(megabytes=2), **FACTS)
    fixed = ClientApp()

    @fixed.train()
    def train(message: Message, context: Context) -> Message:
        content = RecordDict({"metrics": MetricRecord({"num-examples": 4})})
        swell(content)
        return Message(content, reply_to=message)

    arrays = ArrayRecord({name: Array(value) for name, value in wide.items()})
    strategy.fraction_evaluate = strategy.min_evaluate_nodes = 0
    strategy.start(grid=Near([fixed] * 6), initial_arrays=arrays, num_rounds=1)
    size = sum(file.stat().st_size for file in (tmp_path / "capture").rglob("*.safetensors"))
    assert 0 < size <= 2_000_000
    assert len(captures.read(tmp_path / "capture").entries) == 3  # half a megabyte each, and what was sent out
    assert "2 megabytes" in caplog.text


@pytest.mark.parametrize("fault", ["full", "io"])
@pytest.mark.parametrize("call", [0, 5, 20])
def test_a_full_disk_is_one_warning_and_the_training_goes_on(
    tmp_path: Path, caplog: Any, fault: str, call: int
) -> None:
    apps = [client(number) for number in range(2)]
    plain = run(FedAvg(), apps, rounds=4)
    strategy = record(FedAvg(), tmp_path / "capture", **FACTS)
    with used(FaultyDisk(call, fault)):
        recorded = run(strategy, apps, rounds=4)
    assert all(torch.equal(value, weights(plain)[name]) for name, value in weights(recorded).items())
    warned = [each for each in caplog.records if each.name == "flwr.seepage" and each.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "Recording ends" in warned[0].getMessage()


def drop(content: RecordDict) -> None:
    del content["arrays"]["0.bias"]


def reshape(content: RecordDict) -> None:
    content["arrays"]["0.bias"] = Array(np.zeros(3, "float32"))


def quantise(content: RecordDict) -> None:
    content["arrays"]["0.bias"] = Array(np.zeros(8, "int8"))


def encrypt(content: RecordDict) -> None:
    content["arrays"]["0.bias"] = Array("float32", (8,), "cipher", b"\x01" * 40)


def mask(content: RecordDict) -> None:
    del content["arrays"]
    content["masked"] = ConfigRecord({"vector": b"\x01\x02"})


def no_rows(content: RecordDict) -> None:
    content["metrics"] = MetricRecord({"loss": 0.1})


def spoil(content: RecordDict) -> None:
    content["arrays"]["0.bias"] = Array(np.full(8, np.nan, "float32"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop, "no tensor '0.bias'"),
        (reshape, "shape (3,)"),
        (quantise, "type int8"),
        (encrypt, "quantised or encrypted cannot be audited"),
        (mask, "masked sums only"),
        (no_rows, "How many rows"),
        (spoil, "not a number"),
    ],
)
def test_what_cannot_be_audited_is_told_once_and_the_others_are_recorded(
    tmp_path: Path, caplog: Any, change: Any, said: str
) -> None:
    class Tolerant(FedAvg):
        """Takes what clients send as it comes."""

        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            assert len(list(replies)) == 2
            return None, None

    strategy = record(Tolerant(), tmp_path / "capture", **FACTS)
    run(strategy, [client(0), client(1, change)])
    capture = captures.read(tmp_path / "capture")
    assert [entry.round for entry in capture.entries] == [1, 2]
    assert len(capture.clients) == 1
    warned = [each.getMessage() for each in caplog.records if each.name == "flwr.seepage" and each.levelno > 20]
    assert len(warned) == 1
    assert said in warned[0]
    assert "not affected" in warned[0]


def test_a_client_that_fails_is_left_out_and_the_others_are_recorded(tmp_path: Path) -> None:
    def fail(content: RecordDict) -> None:
        raise RuntimeError("the ward's disk is broken")

    run(record(FedAvg(), tmp_path / "capture", **FACTS), [client(0), client(1, fail)])
    assert len(captures.read(tmp_path / "capture").entries) == 2


def test_a_strategy_that_sends_other_weights_is_recorded_as_it_sends(tmp_path: Path) -> None:
    class Halving(FedAvg):
        """Sends half of every weight, and keeps a start of its own."""

        def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any) -> Any:
            half = ArrayRecord({name: Array(value.numpy() / 2) for name, value in arrays.items()})
            yield from super().configure_train(server_round, half, config, grid)

        def start(self, *given: Any, **named: Any) -> Any:
            self.started = True
            return super().start(*given, **named)

    strategy = record(Halving(), tmp_path / "capture", **FACTS)
    run(strategy, [client(0), client(1)], rounds=1)
    assert strategy.started
    for entry in captures.read(tmp_path / "capture").entries:
        assert np.array_equal(entry.before()["0.weight"], net().state_dict()["0.weight"].numpy() / 2)


def test_a_record_that_a_strategy_changes_between_rounds_is_read_anew(tmp_path: Path) -> None:
    class Keeping(FedAvg):
        """Has one record of arrays, and changes what is in it."""

        kept = ArrayRecord(net().state_dict())

        def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any) -> Any:
            self.kept["0.bias"] = Array(np.full(8, float(server_round), "float32"))
            return super().configure_train(server_round, self.kept, config, grid)

    run(record(Keeping(fraction_evaluate=0.0), tmp_path / "capture", **FACTS), [client(0), client(1)])
    found = [(entry.round, float(entry.before()["0.bias"][0])) for entry in captures.read(tmp_path / "capture").entries]
    assert found == [(1, 1.0), (1, 1.0), (2, 2.0), (2, 2.0)]


def test_facts_can_stand_in_the_configuration_of_a_round(tmp_path: Path) -> None:
    strategy = record(FedAvg(), tmp_path / "capture", from_config={"learning_rate": "lr"}, batch_size=4, local_epochs=1)
    grid = Near([client(0), client(1)])
    strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(net().state_dict()),
        num_rounds=1,
        train_config=ConfigRecord({"lr": 0.25}),
    )
    assert {entry.facts.learning_rate for entry in captures.read(tmp_path / "capture").entries} == {0.25}


def test_a_wrapper_that_clips_on_the_server_is_recorded_as_clients_send(tmp_path: Path) -> None:
    inner = FedAvg(fraction_evaluate=0.0)
    outer = DifferentialPrivacyServerSideFixedClipping(
        inner, noise_multiplier=0.0, clipping_norm=1e-6, num_sampled_clients=2
    )
    run(record(outer, tmp_path / "capture", **FACTS), [client(0), client(1)], rounds=1)
    for entry in captures.read(tmp_path / "capture").entries:
        assert np.linalg.norm(entry.update()["0.weight"]) > 1e-3


def test_lists_of_arrays_are_recorded_by_the_names_that_were_given(tmp_path: Path) -> None:
    order = list(net().state_dict())

    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        given = dict(zip(order, message.content["arrays"].to_numpy_ndarrays(), strict=True))
        state = trained({name: torch.from_numpy(value) for name, value in given.items()}, 0)
        arrays = ArrayRecord([value.numpy() for value in state.values()])
        return Message(RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 4})}), reply_to=message)

    strategy = record(FedAvg(fraction_evaluate=0.0), tmp_path / "capture", names=order, **FACTS)
    arrays = ArrayRecord([value.numpy() for value in net().state_dict().values()])
    strategy.start(grid=Near([app, app]), initial_arrays=arrays, num_rounds=1)
    assert set(captures.read(tmp_path / "capture").entries[0].before()) == set(order)


def test_mistakes_at_the_start_are_one_sentence(tmp_path: Path, caplog: Any, monkeypatch: Any) -> None:
    from flwr.server.strategy import FedAvg as Older

    with pytest.raises(InputError, match=r"older API"):
        record(Older(), tmp_path / "capture")  # type: ignore[type-var]
    with pytest.raises(InputError, match="batch_size"):
        record(FedAvg(), tmp_path / "capture", batch_size=0)
    with pytest.raises(InputError, match=r"learning_rat.*learning_rate"):
        record(FedAvg(), tmp_path / "capture", from_config={"learning_rat": "lr"})
    with pytest.raises(InputError, match="'rounds' is 0"):
        Bounds(rounds=0)
    monkeypatch.setattr(flower.flwr, "__version__", "9.9.9")
    with caplog.at_level(logging.WARNING):
        record(FedAvg(), tmp_path / "capture")
    assert "tried with Flower 1.41.0; this is 9.9.9" in caplog.text
