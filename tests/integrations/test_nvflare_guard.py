"""NVFlare's guard: what leaves a client is looked at, and what is held back is seen on the server as a reason."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.decomposers import common_decomposers
from nvflare.app_common.utils.fl_model_utils import FLModelUtils
from nvflare.job_config.api import FedJob
from torch import nn

from seepage import InputError
from seepage.captures import read
from seepage.data import clinic
from seepage.integrations import nvflare_guard
from seepage.integrations.nvflare import GuardFilter, RecorderFilter, guard, record
from tests.integrations.nvflare_hospitals import EXAMPLE, holding_the_canary, planted
from tests.integrations.nvflare_messages import context, in_chains, message

COLUMNS = ["age", "previous_admissions", "hours_in_emergency", "sex", "ward", "died"]
FACTS = {"batch_size": 8, "local_epochs": 1, "learning_rate": 0.05}


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.delitem(sys.modules, "network", raising=False)
    import network

    yield network
    for kept in (nvflare_guard._guards, nvflare_guard._arrived, nvflare_guard._refused):
        kept.clear()


def options(**more: Any) -> dict[str, Any]:
    own = {"schema": str(EXAMPLE / "schema.toml"), "preprocessing": str(EXAMPLE / "preprocessing.toml")}
    return {"model": "network:build", "facts": FACTS, "action": "hold", **own, **more}


class Client:
    """A hospital with a guard in both chains, and one step of training between them."""

    def __init__(self, network: ModuleType, file: Path, *, answer: Any = "error", count: int = 8, **more: Any) -> None:
        if not file.exists():
            clinic(rows=600).select(COLUMNS).head(count).write_csv(file)
        self.network, self.file, self.count = network, file, count
        made = [GuardFilter(options(**more), answer) for _ in range(2)]
        self.arriving, self.leaving = in_chains(*made)
        self.context = context(site="site-1")

    def trained(self) -> dict[str, np.ndarray]:
        net = self.network.Net()
        x, y = self.network.load(self.file)
        nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y).backward()
        torch.optim.SGD(net.parameters(), lr=FACTS["learning_rate"]).step()
        return {name: value.numpy() for name, value in net.state_dict().items()}

    def start(self) -> Shareable:
        weights = {name: value.numpy() for name, value in self.network.Net().state_dict().items()}
        return self.arriving.process(message(weights), self.context)

    def answers(self, weights: dict[str, Any] | None = None, **said: Any) -> Shareable:
        said.setdefault("rows", self.count)
        update = message(self.trained() if weights is None else weights, answer=True, **said)
        return self.leaving.process(update, self.context)


def test_an_update_that_algebra_reads_is_held_back(network: ModuleType, tmp_path: Path) -> None:
    client = Client(network, tmp_path / "rows.csv")
    client.start()
    reply = client.answers()
    reason = reply.get_header(nvflare_guard.HELD)
    assert "held its update back: whole rows can be read from it" in reason
    assert reply.get_return_code() == f"{ReturnCode.TASK_RESULT_FILTER_ERROR} ({reason})"
    assert (from_shareable(reply).data, from_shareable(reply).meta) == ({}, {})  # no weights, no metrics
    assert set(reply) == {"__headers__", "DXO"}
    assert not any(character.isdigit() for character in reason)


@pytest.mark.parametrize("action", ["log", "warn"])
def test_other_actions_let_it_pass(
    network: ModuleType, tmp_path: Path, action: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(network, tmp_path / "rows.csv", action=action)
    client.start()
    with caplog.at_level(logging.INFO):
        reply = client.answers()
    assert from_shareable(reply).meta == {"rows": 8}
    np.testing.assert_array_equal(from_shareable(reply).data["layers.0.weight"], client.trained()["layers.0.weight"])
    assert "whole rows can be read" in caplog.text


def test_an_empty_model_in_its_place_is_skipped_by_fedavg(network: ModuleType, tmp_path: Path) -> None:
    client = Client(network, tmp_path / "rows.csv", answer="empty")
    client.start()
    reply = client.answers(**{MetaKey.INITIAL_METRICS: {"loss": 0.25}})
    assert reply.get_return_code() == ReturnCode.OK
    model = FLModelUtils.from_shareable(reply)
    assert model.params == {}  # NVFlare's FedAvg: "Empty result from client, skipping"
    assert model.metrics is None
    assert "held its update back" in reply.get_header(nvflare_guard.HELD)


@pytest.mark.parametrize("answer", ["error", "empty"])
def test_the_server_is_told(network: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: str) -> None:
    client = Client(network, tmp_path / "rows.csv", answer=answer)
    client.start()
    _, recorder = in_chains(*(RecorderFilter(str(tmp_path / "capture")) for _ in range(2)))
    reply = client.answers()
    assert recorder.process(reply, context("site-1")) is reply
    assert (
        "site-1 sent no update. Seepage's guard of this client held its update back: whole rows can be read"
        in caplog.text
    )
    assert not (tmp_path / "capture").exists()


def test_an_attack_is_scored_against_the_sites_own_rows(network: ModuleType, tmp_path: Path) -> None:
    own = {"attack_seconds": 60, "rows": str(tmp_path / "{site}.csv"), "facts": FACTS | {"batch_size": 2}, "count": 2}
    client = Client(network, tmp_path / "site-1.csv", max_exact=1.0, **own)
    client.start()
    assert client.answers().get_return_code() == ReturnCode.OK
    client = Client(network, tmp_path / "site-1.csv", max_emr=0.1, **own)
    client.start()
    assert "rows can be read from it" in client.answers().get_return_code()


def test_a_guard_that_cannot_look_holds_back(
    network: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(network, tmp_path / "rows.csv")
    assert "it did not see what the client was sent" in client.answers().get_return_code()
    client.start()
    assert "the update is encoded" in client.answers(**{MetaKey.PROCESSED_ALGORITHM: "CKKS"}).get_return_code()
    strange = DXO(data_kind=DataKind.APP_DEFINED, data={"weights": [1]}).to_shareable()
    assert "its form is unknown" in client.leaving.process(strange, client.context).get_return_code()
    assert "its form is unknown" in client.leaving.process(Shareable(), client.context).get_return_code()
    gone = Client(network, tmp_path / "rows.csv", schema=str(tmp_path / "nowhere.toml"))
    gone.start()
    assert "it cannot begin" in gone.answers().get_return_code()
    assert "nowhere.toml" in caplog.text
    shapes = Client(network, tmp_path / "rows.csv", attack_seconds=0.2, rows=str(tmp_path / "rows.csv"))
    shapes.start()
    assert "could not be measured" in shapes.answers({"other": np.ones(3, np.float32)}).get_return_code()


@pytest.mark.parametrize("more", [{"action": "warn"}, {"accept_weak": True}])
def test_others_say_it_and_go_on(network: ModuleType, tmp_path: Path, more: dict[str, Any]) -> None:
    client = Client(network, tmp_path / "rows.csv", **more)
    assert client.answers().get_return_code() == ReturnCode.OK
    client.start()
    assert client.answers(**{MetaKey.PROCESSED_ALGORITHM: "CKKS"}).get_return_code() == ReturnCode.OK
    gone = Client(network, tmp_path / "rows.csv", schema=str(tmp_path / "nowhere.toml"), **more)
    gone.start()
    assert gone.answers().get_return_code() == ReturnCode.OK


def test_metrics_and_errors_pass(network: ModuleType, tmp_path: Path) -> None:
    client = Client(network, tmp_path / "rows.csv")
    metrics = DXO(data_kind=DataKind.METRICS, data={"loss": 0.5}).to_shareable()
    failed = make_reply(ReturnCode.EXECUTION_EXCEPTION)
    for each in (metrics, failed):
        assert client.leaving.process(each, client.context) is each


@pytest.mark.parametrize(
    "strange",
    [
        {"age": "471147"},
        {"age": "Mrs Miller"},
        {"ward": "the ward of Mrs Miller"},
        {"died": "Mrs Miller"},
        {"hours_in_emergency": "-471147.25"},
        None,
    ],
)
def test_what_fails_inside_says_nothing_of_the_rows(
    network: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture, strange: dict[str, str] | None
) -> None:
    """NVFlare's clients stream what they log as an error to the server."""
    client = Client(network, tmp_path / "good.csv")
    client.start()
    cells = pl.read_csv(tmp_path / "good.csv", infer_schema=False).to_dicts()
    cells[3] |= strange or {}
    if strange is None:
        cells = [{"age": "471147", "ward": "Mrs Miller"}]
    pl.DataFrame(cells).write_csv(tmp_path / "rows.csv")
    made = GuardFilter(options(attack_seconds=0.2, rows=str(tmp_path / "rows.csv")))
    _, leaving = in_chains(GuardFilter(made.options), made)
    with caplog.at_level(logging.DEBUG):
        reply = leaving.process(message(client.trained(), answer=True, rows=8), client.context)
    assert reply.get_return_code() != ReturnCode.OK
    assert {each.levelno for each in caplog.records} <= {logging.DEBUG, logging.INFO, logging.WARNING}
    for secret in ("471147", "Miller"):
        assert secret not in caplog.text
        assert secret not in str(reply)


def test_a_value_of_the_rows_is_nowhere(network: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An attack reads the rows of a site, and a recorder writes what the server gets."""
    file = tmp_path / "site-1.csv"
    clinic(rows=600).select(COLUMNS).head(8).write_csv(file)
    planted(file)
    (tmp_path / "kept").mkdir()  # the recorder writes from a thread of its own, perhaps later
    out, back = in_chains(*(RecorderFilter(str(tmp_path / "kept" / "capture"), facts=FACTS) for _ in range(2)))
    common_decomposers.register()  # as NVFlare's parties do before they talk
    with caplog.at_level(logging.DEBUG):
        for action in ("warn", "hold"):
            client = Client(network, file, action=action, attack_seconds=1.0, rows=str(tmp_path / "{site}.csv"))
            out.process(client.start(), context("site-1"))
            reply = back.process(client.answers(), context("site-1"))
            (tmp_path / "kept" / action).write_bytes(reply.to_bytes())
        back.handle_event(EventType.END_RUN, context())
    (tmp_path / "kept" / "log.txt").write_text(caplog.text)
    assert len(read(tmp_path / "kept" / "capture").entries) == 1
    assert holding_the_canary(tmp_path / "kept") == []
    file.rename(tmp_path / "kept" / "rows.csv")
    assert holding_the_canary(tmp_path / "kept") == ["rows.csv"]  # it would have been found


def broken(_: Any) -> str:
    raise ValueError("Mrs Miller, 93")


def suspicious(_: Any) -> str:
    return "its first layer copies rows"


@pytest.mark.parametrize("look", ["broken", "suspicious"])
def test_a_model_that_arrived_can_be_looked_at(
    network: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture, look: str
) -> None:
    client = Client(network, tmp_path / "rows.csv", max_exact=1.0, arrived=f"{__name__}:{look}")
    client.start()
    reply = client.answers()
    assert "held its update back" in reply.get_header(nvflare_guard.HELD)
    assert "Miller" not in caplog.text + str(reply)
    assert not [each for each in caplog.records if each.levelno > logging.WARNING]
    unseen = Client(network, tmp_path / "rows.csv", max_exact=1.0)
    unseen.start()
    assert unseen.answers().get_return_code() == ReturnCode.OK


def test_weights_are_forgotten_when_the_job_ends(network: ModuleType, tmp_path: Path) -> None:
    client = Client(network, tmp_path / "rows.csv")
    client.start()
    assert nvflare_guard._arrived
    client.leaving.handle_event(EventType.END_RUN, client.context)
    assert not nvflare_guard._arrived
    assert not nvflare_guard._guards


def test_a_job_is_given_both_filters(network: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)
    job = FedJob(name="job", min_clients=1)
    record(job, tmp_path / "capture", **FACTS)
    guard(job, answer="empty", model="network:build", schema="schema.toml", facts=FACTS, action="hold")
    job.export_job(str(tmp_path / "jobs"))
    (file,) = (tmp_path / "jobs").rglob("config_fed_client.json")
    config = json.loads(file.read_text())
    for chain in ("task_data_filters", "task_result_filters"):
        ((found,),) = [each["filters"] for each in config[chain]]
        assert found["path"] == "seepage.integrations.nvflare_guard.GuardFilter"
        assert found["args"]["answer"] == "empty"
        assert found["args"]["options"]["schema"] == str(EXAMPLE / "schema.toml")
        assert GuardFilter(**found["args"]).options == found["args"]["options"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"attack_seconds": 0, "rows": "x.csv"}, "more than 0"),
        ({"attack_seconds": 5}, "needs the client's rows"),
        ({"acton": "hold"}, "acton"),
        ({"action": "hlod"}, "hold"),
        ({"answer": "nothing"}, "nothing"),
    ],
)
def test_mistakes_are_told_where_the_job_is_made(network: ModuleType, more: dict[str, Any], said: str) -> None:
    own = {"model": "network:build", "schema": EXAMPLE / "schema.toml", "facts": FACTS} | more
    with pytest.raises(InputError, match=said):
        guard(FedJob(name="job", min_clients=1), **own)
