"""NVFlare's recorder: what a server sends and gets is in a capture, and nothing of it reaches the training."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nvflare.apis.dxo import DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.job_config.api import FedJob

from seepage._core import InputError
from seepage.captures import Capture, read
from seepage.integrations import nvflare_messages
from seepage.integrations.nvflare import RecorderFilter, record
from tests.integrations.nvflare_messages import WEIGHTS, context, in_chains, message

FACTS = {"batch_size": 4, "local_epochs": 2, "learning_rate": 0.1}


class Server:
    """A server with a recorder in both chains."""

    def __init__(self, folder: Path, **options: Any) -> None:
        options.setdefault("facts", FACTS)
        made = [RecorderFilter(str(folder), **options) for _ in range(2)]
        self.out, self.back = in_chains(*made)

    def send(self, weights: Any, client: str = "site-1", **said: Any) -> Shareable:
        return self.out.process(message(weights, **said), context(client))

    def get(self, weights: Any, client: str = "site-1", **said: Any) -> Shareable:
        return self.back.process(message(weights, answer=True, **said), context(client))

    def end(self) -> None:
        for each in (self.out, self.back):
            each.handle_event(EventType.END_RUN, context())


def moved(by: float) -> dict[str, np.ndarray]:
    return {name: value + np.float32(by) for name, value in WEIGHTS.items()}


def one_round(folder: Path, **said: Any) -> Capture:
    server = Server(folder)
    server.send(WEIGHTS)
    server.get(moved(1), rows=8, **said)
    server.end()
    return read(folder)


def test_rounds_and_clients_are_recorded(tmp_path: Path) -> None:
    server = Server(tmp_path / "capture")
    weights = dict(WEIGHTS)
    for number in (0, 1):
        for client in ("site-1", "site-2"):
            server.send(weights, client, round=number)
        for place, client in enumerate(("site-1", "site-2")):
            server.get(moved(number + place + 1), client, round=number, rows=8)
    server.end()
    capture = read(tmp_path / "capture")
    assert capture.framework is not None
    assert (capture.framework.name, capture.framework.version) == ("nvflare", "2.9.0")
    assert [each.round for each in capture.entries] == [0, 0, 1, 1]
    assert len(capture.clients) == 2
    assert all("site" not in each for each in capture.clients)
    entry = capture.entries[3]
    assert entry.facts.model_dump() | FACTS | {"rows": 8} == entry.facts.model_dump()
    np.testing.assert_array_equal(entry.before()["weight"], WEIGHTS["weight"])
    np.testing.assert_allclose(entry.update()["weight"], 3)


def test_messages_are_passed_on_as_they_are(tmp_path: Path) -> None:
    server = Server(tmp_path / "capture")
    task, answer = message(WEIGHTS), message(moved(1), answer=True, rows=8)
    assert server.out.process(task, context("site-1")) is task
    assert server.back.process(answer, context("site-1")) is answer
    found = from_shareable(answer)
    assert found.data_kind == DataKind.WEIGHTS
    assert found.meta == {"rows": 8}  # no filter history: nothing was changed
    for name, value in found.data.items():
        np.testing.assert_array_equal(value, WEIGHTS[name] + 1)


def test_a_difference_is_recorded_as_a_change(tmp_path: Path) -> None:
    server = Server(tmp_path / "capture")
    server.send(WEIGHTS)
    server.get(moved(1), kind=DataKind.WEIGHT_DIFF, rows=8)
    server.end()
    (entry,) = read(tmp_path / "capture").entries
    assert entry.kind == "change"
    np.testing.assert_array_equal(entry.sent()["bias"], [1, 1])


def test_tensors_of_torch_are_recorded(tmp_path: Path) -> None:
    server = Server(tmp_path / "capture")
    server.send({name: torch.from_numpy(value) for name, value in WEIGHTS.items()})
    server.get({name: torch.from_numpy(value) for name, value in moved(1).items()}, rows=8)
    server.end()
    (entry,) = read(tmp_path / "capture").entries
    np.testing.assert_allclose(entry.update()["weight"], 1)


def test_what_is_changed_after_it_has_passed_is_recorded_as_it_was(tmp_path: Path) -> None:
    server = Server(tmp_path / "capture")
    sent = {name: value.copy() for name, value in WEIGHTS.items()}
    server.send(sent)
    answer = moved(1)
    for each in sent.values():
        each += 100
    server.get(answer, rows=8)
    for each in answer.values():
        each += 100
    server.end()
    (entry,) = read(tmp_path / "capture").entries
    np.testing.assert_allclose(entry.update()["weight"], 1)


def test_clients_that_are_sent_other_weights_are_recorded_with_theirs(tmp_path: Path) -> None:
    server = Server(tmp_path / "capture")
    server.send(WEIGHTS, "site-1")
    server.send(moved(5), "site-2")
    server.get(moved(6), "site-2", rows=8)
    server.get(moved(1), "site-1", rows=8)
    server.end()
    assert [each.update()["bias"].tolist() for each in read(tmp_path / "capture").entries] == [[1, 1], [1, 1]]


def test_filters_that_changed_an_update_are_believed(tmp_path: Path) -> None:
    capture = one_round(tmp_path / "capture", **{MetaKey.FILTER_HISTORY: ["SVTPrivacy"]})
    assert capture.entries[0].facts.covered
    assert not one_round(tmp_path / "plain").entries[0].facts.covered


def test_steps_are_no_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(tmp_path / "capture")
    server.send(WEIGHTS)
    server.get(moved(1), **{MetaKey.NUM_STEPS_CURRENT_ROUND: 12})
    server.end()
    assert not (tmp_path / "capture").exists()
    assert "How many rows are behind the update?" in caplog.text


def test_rows_can_be_told_by_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path / "capture", rows={"site-1": 40})
    server.send(WEIGHTS)
    server.get(moved(1))
    server.end()
    assert read(tmp_path / "capture").entries[0].facts.rows == 40


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"quantized_flag": True, MetaKey.PROCESSED_ALGORITHM: "float16"}, "The weights are quantised"),
        ({MetaKey.PROCESSED_ALGORITHM: "CKKS"}, "The weights are encoded ('CKKS')"),
    ],
)
def test_what_cannot_be_audited_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, said: dict[str, Any], why: str
) -> None:
    server = Server(tmp_path / "capture")
    for _ in range(2):
        server.send(WEIGHTS)
        server.get({"weight": b"cipher"}, **said)
    server.end()
    assert caplog.text.count(why) == 1
    assert not (tmp_path / "capture").exists()


def test_other_arrays_than_were_sent_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(tmp_path / "capture")
    server.send(WEIGHTS, "site-1")
    server.get({"other": np.ones(3, np.float32)}, "site-1", rows=8)
    server.get({"weight": "no array"}, "site-2", rows=8)
    server.get({"weight": np.ones((5, 5), np.float32), "bias": WEIGHTS["bias"]}, "site-3", rows=8)
    server.get(moved(1), "site-4", rows=8)
    server.end()
    assert len(read(tmp_path / "capture").entries) == 1
    assert "cannot be audited and is left out" in caplog.text


def test_answers_with_errors_pass(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(tmp_path / "capture")
    reply = make_reply(ReturnCode.EXECUTION_EXCEPTION)
    assert server.back.process(reply, context("site-1")) is reply
    empty = Shareable()
    assert server.back.process(empty, context("site-1")) is empty
    assert "site-1 sent no update (EXECUTION_EXCEPTION)" in caplog.text
    server.back.process(make_reply("BAD\nfake line" + "x" * 9999), context("site-1"))
    assert "\nfake line" not in caplog.text
    assert len(caplog.text) < 1500


def test_a_recorder_that_breaks_is_no_matter(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise MemoryError("4711 is a secret")

    server = Server(tmp_path / "capture")
    monkeypatch.setattr("seepage.integrations.nvflare.copied", broken)
    task = message(WEIGHTS)
    assert server.out.process(task, context("site-1")) is task
    assert "An update was not recorded (MemoryError)" in caplog.text
    assert "4711" not in caplog.text


def test_an_answer_without_its_task_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(tmp_path / "capture")
    server.get(moved(1), rows=8)
    server.end()
    assert "What was sent out in round 0 was not seen" in caplog.text


def test_a_job_is_given_both_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVFlare writes a filter into the job as its class and its arguments."""
    monkeypatch.chdir(tmp_path)
    job = FedJob(name="job", min_clients=1)
    record(job, "capture", rows={"site-1": 8}, bounds={"rounds": 3}, **FACTS)
    job.export_job(str(tmp_path / "jobs"))
    (file,) = (tmp_path / "jobs").rglob("config_fed_server.json")
    config = json.loads(file.read_text())
    expected = {
        "path": "seepage.integrations.nvflare.RecorderFilter",
        "args": {
            "folder": str(tmp_path / "capture"),
            "facts": FACTS,
            "bounds": {"rounds": 3},
            "rows": {"site-1": 8},
        },
    }
    for chain in ("task_data_filters", "task_result_filters"):
        assert config[chain] == [{"tasks": ["train"], "filters": [expected]}]
    assert RecorderFilter(**expected["args"]).folder == expected["args"]["folder"]


def test_mistakes_are_told_before_the_training(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give its whole path"):
        RecorderFilter("capture")
    with pytest.raises(InputError, match="learning_rate"):
        RecorderFilter(str(tmp_path / "capture"), facts={"learning_rate": -1})
    with pytest.raises(InputError, match="'rounds' is 0"):
        RecorderFilter(str(tmp_path / "capture"), bounds={"rounds": 0})


def test_an_untried_version_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvflare_messages.nvflare, "__version__", "3.1.4")
    with caplog.at_level(logging.WARNING):
        record(FedJob(name="job", min_clients=1), tmp_path / "capture", **FACTS)
    assert "Seepage was tried with NVFlare 2.9.0; this is 3.1.4." in caplog.text
