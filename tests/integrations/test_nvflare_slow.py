"""The whole tutorial with NVFlare's simulator and with real processes, and kills at random moments."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import psutil
import pytest

import seepage
from seepage import captures
from tests.integrations.nvflare_hospitals import environment, holding_the_canary, planted, run, settled
from tests.integrations.test_nvflare_simulator import network, plain_loop, same_updates  # noqa: F401 (a fixture)

pytestmark = pytest.mark.slow


def read_by(capture: Path, folder: Path, client: str, truth: Path) -> tuple[int, ...]:
    """How many rows of a client an audit of a capture reads exactly, nearly, and with a proof."""
    summary = seepage.audit(
        None,
        study="updates",
        capture=str(capture),
        client=client,
        truth=truth,
        schema=folder / "schema.toml",
        preprocessing=folder / "preprocessing.toml",
        model="network:build",
        attacks=("exact",),
        simulations=1,
    )
    (cell,) = [each for each in summary.cells if each.origin == "captured"]
    return cell.rows_exact, cell.rows_near, cell.rows_certified


@pytest.mark.parametrize("epochs", [1, 2], ids=["one step", "fedavg"])
def test_an_audit_reads_the_same_from_a_recorded_run_and_from_a_plain_loop(
    tmp_path: Path,
    network: ModuleType,  # noqa: F811
    epochs: int,
) -> None:
    run(tmp_path, "job.py", "--rounds", "1", "--rows", "4", "--epochs", str(epochs), "--batch-size", "4")
    recorded = captures.read(tmp_path / "capture")
    found = []
    for hospital in (1, 2, 3):
        before = len(captures.read(tmp_path / "plain").entries) if found else 0
        plain = plain_loop(tmp_path, network, recorded, [hospital], rows=4, epochs=epochs, batch_size=4)
        client = plain.entries[before].client
        truth = tmp_path / f"truth-{hospital}.csv"
        truth.write_text("".join((tmp_path / f"site-{hospital}.csv").read_text().splitlines(keepends=True)[:5]))
        found.append(read_by(recorded.folder, tmp_path, client, truth))
        assert read_by(plain.folder, tmp_path, client, truth) == found[-1]
    same_updates(recorded, plain)
    assert any(near for _, near, _ in found)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def parties(folder: Path) -> list[psutil.Process]:
    """The processes that NVFlare runs for a folder."""
    found = []
    for each in psutil.process_iter():
        try:
            words = " ".join(each.cmdline())
        except psutil.Error:
            continue
        if str(folder) in words and each.pid != os.getpid():
            found.append(each)
    return found


def end(folder: Path) -> None:
    """Nothing of a folder's federation is left running."""
    for each in parties(folder):
        try:
            each.kill()
        except psutil.Error:
            continue


def test_real_processes_on_this_machine_only(tmp_path: Path) -> None:
    """NVFlare's POC mode: a server and three clients, which listen on 127.0.0.1 and nowhere else."""
    folder = settled(tmp_path)
    project = folder / "project.yml"
    project.write_text(project.read_text().replace("fed_learn_port: 8002", f"fed_learn_port: {free_port()}"))
    for hospital in (1, 2, 3):
        planted(folder / f"site-{hospital}.csv")
    listening: set[str] = set()
    leaked: set[str] = set()
    guarded: set[str] = set()
    with (folder / "out.txt").open("w") as out:
        words = [sys.executable, "job.py", "--env", "poc", "--guard", "warn", "--attack-seconds", "2"]
        job = subprocess.Popen(words, cwd=folder, env=environment(folder), stdout=out, stderr=subprocess.STDOUT)
        try:
            until = time.monotonic() + 400
            while job.poll() is None and time.monotonic() < until:
                listening |= addresses(parties(folder))
                leaked |= set(holding_the_canary(folder))  # NVFlare removes the parties' folders at the end
                guarded |= with_guards(folder)
                time.sleep(1)  # nothing waits for it: the ports are looked at while the federation runs
        finally:
            job.kill()
            job.wait()
            end(folder)
    assert job.returncode == 0, (folder / "out.txt").read_text()
    assert "FINISHED:COMPLETED" in (folder / "out.txt").read_text()
    assert listening == {"127.0.0.1"}
    assert guarded == {"site-1", "site-2", "site-3"}
    assert not leaked | set(holding_the_canary(folder))
    capture = captures.read(folder / "capture")
    assert [entry.round for entry in capture.entries] == [0, 0, 0, 1, 1, 1]
    assert [entry.facts.rows for entry in capture.entries] == [64] * 6


def with_guards(folder: Path) -> set[str]:
    """Sites whose log has a line of an attacking guard."""
    found = set()
    for log in folder.glob("poc/hospitals/prod_00/site-*/*/log.txt"):
        with contextlib.suppress(FileNotFoundError):
            if "Seepage's guard: exact (" in log.read_text():
                found.add(log.parts[-3])
    return found


def addresses(processes: list[psutil.Process]) -> set[str]:
    found = set()
    for each in processes:
        try:
            found |= {at.laddr.ip for at in each.net_connections("inet") if at.status == psutil.CONN_LISTEN}
        except psutil.Error:
            continue
    return found


LOOP = """
import sys
import numpy as np
from seepage.integrations.nvflare import RecorderFilter
from tests.integrations.nvflare_messages import context, in_chains, message

made = [RecorderFilter(sys.argv[1], facts={"batch_size": 4, "learning_rate": 0.1}) for _ in range(2)]
out, back = in_chains(*made)
weights = {"weight": np.zeros((100, 1000), np.float32)}
print("ready", flush=True)
for number in range(100_000):
    out.process(message(weights, round=number), context("site-1"))
    for client in ("site-1", "site-2", "site-3"):
        answer = {"weight": np.full((100, 1000), number, np.float32)}
        back.process(message(answer, round=number, answer=True, rows=8), context(client))
"""


def test_a_capture_is_readable_whenever_its_server_is_killed(tmp_path: Path) -> None:
    chance, seen = random.Random(0), []
    root = Path(__file__).parents[2]
    paths = f"{root / 'src'}{os.pathsep}{root}"
    for number in range(20):
        place = tmp_path / f"capture{number}"
        words = [sys.executable, "-c", LOOP, str(place)]
        server = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.PIPE)
        assert server.stdout is not None
        server.stdout.readline()
        time.sleep(chance.uniform(0, 0.4))  # the moment of the kill
        server.send_signal(signal.SIGKILL)
        server.wait()
        server.stdout.close()
        if (place / "capture.json").exists():
            capture = captures.read(place)
            seen.append(len(capture.entries))
            for entry in capture.entries:
                assert set(entry.sent()) == set(entry.before()) == {"weight"}
    assert len(seen) > 5  # most kills came in the middle of writing


@pytest.mark.parametrize("victim", ["server", "client"])
def test_kills_in_the_simulator(tmp_path: Path, victim: str) -> None:
    """With a recorder a federation ends as it does without one, and the capture is readable."""
    ends = {}
    for recording in (True, False):
        folder = settled(tmp_path / f"{victim}-{recording}")
        if not recording:
            job = folder / "job.py"
            job.write_text(re.sub(r"^record\(.*\n", "", job.read_text(), flags=re.M))
        ends[recording] = outcome_of_a_kill(folder, victim)
        if recording:
            for entry in captures.read(folder / "capture").entries:
                assert entry.sent().keys() == entry.before().keys()
    assert ends[True] == ends[False]


def outcome_of_a_kill(folder: Path, victim: str) -> str:
    """How a job of many rounds ends after a kill in its second round."""
    with (folder / "out.txt").open("w") as out:
        words = [sys.executable, "job.py", "--hospitals", "2", "--rounds", "60"]
        job = subprocess.Popen(words, cwd=folder, env=environment(folder), stdout=out, stderr=subprocess.STDOUT)
        try:
            if not waited(lambda: "Round 1 started" in (folder / "out.txt").read_text(), 120):
                return "never began"
            clients = [each for each in parties(folder) if "simulator_worker" in " ".join(each.cmdline())]
            others = [each for each in parties(folder) if each.pid not in {client.pid for client in clients}]
            for each in clients[:1] if victim == "client" else others:
                each.kill()
            return "ended" if waited(lambda: job.poll() is not None, 30) else "went on"
        finally:
            job.kill()
            job.wait()
            end(folder)


def waited(done: object, seconds: float) -> bool:
    """Whether something happens within some seconds."""
    assert callable(done)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if done():
            return True
        time.sleep(0.2)
    return False
