"""Flower's deployment engine with real processes: recorded as a plain loop would send, guarded, killed."""

from __future__ import annotations

import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import psutil
import pytest
import torch

import seepage
from seepage import captures
from tests.integrations.flower_processes import EXAMPLE, Flower, app_in, flower_in, stop
from tests.loading import module_at

FACTS = {"batch_size": 8, "learning_rate": 0.05}


def task() -> ModuleType:
    """The tutorial's model and training, without its package."""
    return module_at(EXAMPLE / "hospitals" / "task.py")


def plain_loop(folder: Path, before: dict[str, np.ndarray], epochs: int, turn: int = 1) -> list[dict[str, np.ndarray]]:
    """What each hospital sends, computed here."""
    own, found = task(), []
    for number in (1, 2, 3):
        net = own.Net()
        net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in before.items()})
        own.train(net, own.load_data(folder / f"site-{number}.csv", FACTS["batch_size"], turn), epochs, 0.05)
        found.append({name: value.numpy() for name, value in net.state_dict().items()})
    return found


def place_of(sent: dict[str, np.ndarray], own: list[dict[str, np.ndarray]]) -> int:
    """Which hospital sent this, by what a plain loop gives."""
    same = [all(np.allclose(value, each[name], rtol=1e-5, atol=1e-7) for name, value in sent.items()) for each in own]
    assert sum(same) == 1
    return same.index(True)


@pytest.mark.slow
def test_one_round_is_recorded_as_a_plain_loop_sends(tmp_path: Path) -> None:
    folder = app_in(tmp_path / "app", rows=8)
    with flower_in(folder) as flower:
        out = flower.run(num_server_rounds=1, capture=tmp_path / "capture")
    assert "Received 3 results and 0 failures" in out, out
    assert "3 updates of 1 round" in out
    capture = captures.read(tmp_path / "capture")
    own = plain_loop(folder, capture.entries[0].before(), epochs=1)
    assert {place_of(entry.sent(), own) for entry in capture.entries} == {0, 1, 2}
    assert {(entry.facts.rows, entry.facts.batch_size, entry.facts.local_epochs) for entry in capture.entries} == {
        (8, 8, 1)
    }


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [1, 2], ids=["one step", "fedavg"])
def test_what_is_read_from_a_recorded_run_equals_what_is_read_from_a_plain_loop(tmp_path: Path, epochs: int) -> None:
    folder = app_in(tmp_path / "app", rows=8)
    subprocess.run([sys.executable, "certificates.py"], cwd=folder, check=True)
    with flower_in(folder, tls=folder / "keys") as flower:
        out = flower.run(num_server_rounds=1, local_epochs=epochs, capture=tmp_path / "capture")
    assert "Received 3 results and 0 failures" in out, out
    recorded = captures.read(tmp_path / "capture")
    before = recorded.entries[0].before()
    own = plain_loop(folder, before, epochs)
    for entry in recorded.entries:  # in the order of the recorded one, so that both draw the same
        after = own[place_of(entry.sent(), own)]
        captures.write(
            tmp_path / "plain", before=before, after=after, client=entry.client, add=True, **FACTS, rows=8,
            local_epochs=epochs,
        )  # fmt: skip
    asked: dict[str, Any] = {
        "study": "updates",
        "schema": str(folder / "schema.toml"),
        "preprocessing": str(folder / "preprocessing.toml"),
        "model": task().build,
        "attacks": "exact",
        "simulations": 0,
    }
    found = []
    for entry in recorded.entries:
        truth = folder / f"site-{place_of(entry.sent(), own) + 1}.csv"
        for name in ("capture", "plain"):
            scored = seepage.audit(None, capture=str(tmp_path / name), truth=truth, client=entry.client, **asked)
            found.append((scored.cells[0].rows_exact, scored.cells[0].rows_near, scored.cells[0].rows_certified))
    assert found[::2] == found[1::2]
    if epochs == 1:
        assert found == [(8, 8, 8)] * 6  # every row of every hospital, proven
    else:
        assert sum(near for _, near, _ in found) > 0


@pytest.mark.slow
def test_the_server_sees_why_updates_are_held_back(tmp_path: Path) -> None:
    folder = app_in(tmp_path / "app", rows=8, clientapp="hospitals.guarded_app:app")
    subprocess.run([sys.executable, "certificates.py"], cwd=folder, check=True)
    with flower_in(folder, tls=folder / "keys") as flower:
        out = flower.run(num_server_rounds=1, capture=tmp_path / "capture")
    assert "Received 0 results and 3 failures" in out
    assert out.count("Seepage's guard of this client held its update back: whole rows can be read") == 3
    assert not (tmp_path / "capture").exists()
    assert "8 rows span 8 of 24 dimensions" in (folder / "site-1.log").read_text()  # the client itself is told more


def serverapp_of(flower: Flower) -> int:
    """The process in which strategy and recorder run."""
    assert flower.link is not None
    below = psutil.Process(flower.link.pid).children(recursive=True)
    (own,) = [each.pid for each in below if any("flwr-serverapp" in word for word in each.cmdline())]
    return own


@pytest.mark.slow
def test_captures_stay_readable_whoever_is_killed(tmp_path: Path) -> None:
    """Twenty kills at random moments: of the SuperLink, of a SuperNode, of the recorder's process."""
    drawn, seen = random.Random(0), 0
    for number in range(20):
        folder = app_in(tmp_path / f"app-{number}", rows=8)
        place = tmp_path / f"capture-{number}"
        with flower_in(folder) as flower:
            running = flower.begin_run(num_server_rounds=50, capture=place)
            until = time.monotonic() + 90
            while not (place / "capture.json").exists():
                assert time.monotonic() < until
                time.sleep(0.05)
            time.sleep(drawn.uniform(0, 6))
            kind = ("link", "node", "recorder")[number % 3]
            if kind == "link":
                assert flower.link is not None
                stop(flower.link)
            elif kind == "node":
                stop(flower.supernodes[0])
            else:
                os.kill(serverapp_of(flower), signal.SIGKILL)
            time.sleep(1)
            stop(running)
        capture = captures.read(place)
        for entry in capture.entries:
            assert entry.before().keys() == entry.sent().keys()  # whole, with the right digest
            assert entry.update()
        seen += len(capture.entries)
    assert seen >= 60


@pytest.mark.slow
def test_a_training_that_loses_a_node_goes_on_as_without_a_recorder(tmp_path: Path) -> None:
    ends = {}
    for name in ("recorded", "plain"):
        folder = app_in(tmp_path / name, rows=8)
        if name == "plain":
            server = folder / "hospitals" / "server_app.py"
            server.write_text(re.sub(r"    strategy = record\(.*\n", "", server.read_text()))
        server = folder / "hospitals" / "server_app.py"
        server.write_text(server.read_text().replace("min_train_nodes=3, min_available_nodes=3", "min_train_nodes=2"))
        with flower_in(folder) as flower:
            running = flower.begin_run(num_server_rounds=3, capture=tmp_path / f"{name}-capture")
            assert running.stdout is not None
            lines = []
            for line in running.stdout:
                lines.append(line)
                if "aggregate_train" in line and sum("aggregate_train" in each for each in lines) == 1:
                    stop(flower.supernodes[0])
                if "ServerApp-side Evaluate Metrics" in line:
                    break
            stop(running)
        ends[name] = [bool(re.search(f"ROUND {turn}/3", "".join(lines))) for turn in (1, 2, 3)]
    assert ends["recorded"] == ends["plain"] == [True, True, True]


@pytest.mark.slow
def test_a_canary_appears_in_no_file_log_or_message(tmp_path: Path) -> None:
    folder = app_in(tmp_path / "app", rows=8, clientapp="hospitals.guarded_app:app")
    app = folder / "hospitals" / "guarded_app.py"
    attacking = 'max_exact=0.0, attack_seconds=20.0, rows=lambda context: context.node_config["rows"],'
    app.write_text(app.read_text().replace("max_exact=0.0,", attacking).replace('action="hold"', 'action="warn"'))
    canary = 13.77135
    rows = pl.read_csv(folder / "site-1.csv").with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(canary).otherwise("hours_in_emergency").alias("hours_in_emergency")
    )
    rows.write_csv(folder / "site-1.csv")
    with flower_in(folder) as flower:
        out = flower.run(num_server_rounds=1, capture=tmp_path / "capture")
    assert "Received 3 results and 0 failures" in out, out
    assert "rows read back exactly" in (folder / "site-1.log").read_text()  # the attack was run and scored
    scaled = (canary - 6.0) / 4.0
    signs = [str(canary).encode(), f"{scaled:.4f}".encode()]
    signs += [struct.pack(form, value) for form in ("<f", "<d") for value in (canary, scaled)]
    (folder / "site-1.csv").unlink()
    searched = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(searched) > 10
    for file in searched:
        content = file.read_bytes()
        assert not any(sign in content for sign in signs), file
    assert not any(sign in out.encode() for sign in signs)
