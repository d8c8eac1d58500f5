"""The study of a cheating server: clients answer, rows are read, checks look on."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import seepage
from seepage._core import InputError
from seepage.cli.main import main
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.results import Run, read_summary
from seepage.results.servers import ServersResult, ServersSummary
from seepage.studies.servers.clients import prepared
from seepage.studies.servers.settings import ServersSettings
from tests.report.example import Reader

NET = "mlp:width=300:activation=relu:norm=none"
SHORT: dict[str, Any] = {
    "study": "servers", "data": "clinic", "models": [NET, "mlp"], "batch_sizes": [24], "trials": 1, "rounds": [1, 2],
    "protocols": ["fedsgd", "fedavg"], "local_batch": 8, "public_rows": 200, "attacks": ["codes", "cuts", "module"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("servers") / "run"
    seepage.audit(**SHORT, out=place)
    return place


@pytest.fixture(scope="module")
def summary(folder: Path) -> ServersSummary:
    found = read_summary(Run.open(folder))
    assert isinstance(found, ServersSummary)
    return found


def cell(summary: ServersSummary, attack: str, protocol: str = "fedsgd") -> ServersResult:
    return next(c for c in summary.cells if c.attack.startswith(attack) and c.protocol == protocol and "300" in c.model)


def value(result: ServersResult, name: str) -> float:
    found = result.metrics[name]
    assert found is not None
    return found.mean


def test_rows_are_read_and_clients_could_notice(summary: ServersSummary) -> None:
    for attack in ("codes", "cuts", "module"):
        found = cell(summary, attack)
        assert value(found, "exact") > 0.9
        assert value(found, "certified_wrong") == 0
        assert value(found, "guess") < 0.1
        assert value(found, "noticed") == 1
        assert found.checks
        assert found.notices
    assert "shapes" in cell(summary, "module").checks


def test_local_training_does_not_hide_rows_from_a_module(summary: ServersSummary) -> None:
    assert value(cell(summary, "module", "fedavg"), "exact") > 0.9


def test_attacks_of_one_round_are_run_once(summary: ServersSummary) -> None:
    assert {c.rounds for c in summary.cells if c.attack.startswith("codes")} == {1}
    assert {c.rounds for c in summary.cells if c.attack == "cuts"} == {1, 2}


def test_a_model_that_does_not_fit_says_why(summary: ServersSummary) -> None:
    # With LayerNorm no neuron cuts alone; only a module of the server's own reads.
    others = [c for c in summary.cells if "300" not in c.model and not c.attack.startswith("module")]
    assert others
    for each in others:
        assert not each.measured
        assert "LayerNorm" in each.notes[0]


def test_the_threat_model_says_that_the_server_cheats(folder: Path, summary: ServersSummary) -> None:
    assert "A server that cheats: it sends weights of its own making" in summary.threat_model.adversary[0]
    text = Reader((folder / "report.html").read_text()).text if (folder / "report.html").exists() else ""
    assert not text or "A server that cheats" in text


@pytest.mark.parametrize("public", ["marginals", "ranges"])
def test_less_knowledge_reads_too(public: str) -> None:
    found = seepage.audit(
        study="servers", data="clinic", models=NET, batch_sizes=16, attacks="codes", trials=1, public=public
    )
    assert isinstance(found, ServersSummary)
    assert value(found.cells[0], "exact") > 0.3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"attacks": "bin"}, "bins"),
        ({"batch_sizes": 50_000, "attacks": "codes", "trials": 1}, "does not fit a table"),
        ({"local_epochs": 3}, "belongs to the protocol fedavg"),
        ({"attacks": "exact"}, "servers"),
    ],
)
def test_mistakes_are_one_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        seepage.audit(**{"study": "servers", "data": "clinic", "models": NET} | changes)


def test_the_command_says_what_is_wrong_with_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["seepage", "audit", "servers", "--data", "clinic", "--attacks", "cut"])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets it; this puts it back
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "Did you mean 'cuts'?" in capsys.readouterr().err


@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
def test_what_a_client_answers_tells_no_order_of_rows(protocol: str) -> None:
    settings = ServersSettings(protocols=(protocol,), models=("mlp:width=16",), local_batch=24)
    source = open_source(Request(data="clinic"))
    setting = prepared(source, settings, "mlp:width=16", protocol, 24)
    client = setting.client(np.random.default_rng(1))
    order = torch.arange(24).flip(0)
    mixed = replace(client, x=client.x[order], y=client.y[order])
    sent: Any = SimpleNamespace(learner=setting.learner, parameters=setting.learner.initial())
    one, other = (each.answer(sent, settings, np.random.default_rng(2)) for each in (client, mixed))
    assert one.exchange == other.exchange
    for name, value in one.update.items():
        torch.testing.assert_close(value, other.update[name], rtol=1e-4, atol=1e-6)
