"""Dask in real processes: who may come in, who may work, and what happens when somebody dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from distributed import Client, Security
from distributed.versions import get_versions

from seepage._core import InputError, RunStopped
from seepage.runs import cluster as clusters
from seepage.runs import run
from seepage.runs.backends import open_backend
from seepage.runs.cluster import Dask, _as_expected, _checked
from seepage.runs.identity import PACKAGES, differences, identity
from seepage.runs.task import run_task
from tests.faults.ports import listening
from tests.runs.test_sweep import SMALL, a_plan, numbers, undisturbed

ROLES = ("client", "scheduler", "worker")


class Cluster:
    """A scheduler with workers, each a process, over TLS, as a user has one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        made = Security.temporary()  # type: ignore[no-untyped-call]
        self.files = {"ca": folder / "ca.pem", "key": folder / "key.pem"}
        self.files["ca"].write_text(made.tls_ca_file)
        self.files["key"].write_text(made.tls_client_key)
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        while not file.exists() or not file.read_text().endswith("}"):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address: str = json.loads(file.read_text())["address"]

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """One more worker."""
        words = (self.address, "--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder))
        return self._start("worker", *words, **environment)

    def _start(self, what: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        keys = ("--tls-ca-file", self.files["ca"], "--tls-cert", self.files["ca"], "--tls-key", self.files["key"])
        command = [sys.executable, "-m", "dask", what, *words, *map(str, keys), "--no-dashboard"]
        started = subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.DEVNULL, cwd=self.folder)
        self.processes.append(started)
        return started

    def waited(self, workers: int) -> None:
        """Until so many workers are there."""
        security = Security(  # type: ignore[no-untyped-call]
            tls_ca_file=str(self.files["ca"]),
            tls_client_cert=str(self.files["ca"]),
            tls_client_key=str(self.files["key"]),
            require_encryption=True,
        )
        with Client(self.address, security=security, set_as_default=False) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(workers, timeout=60)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@contextmanager
def a_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster with one worker, and Dask's settings for it."""
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        made = Cluster(folder)
        stack.callback(made.close)
        made.worker()
        made.waited(1)
        tls = {"ca-file": made.files["ca"], "client.cert": made.files["ca"], "client.key": made.files["key"]}
        import dask

        named = {f"distributed.comm.tls.{name}": str(file) for name, file in tls.items()}
        stack.enter_context(dask.config.set(named))
        yield made


def test_nobody_without_the_key_of_the_run_comes_in_and_there_is_no_page() -> None:
    before = set(listening())
    with open_backend("dask", jobs=1) as backend:
        assert isinstance(backend, Dask)
        address = backend._client.scheduler.address
        ports = set(listening()) - before
        assert {host for _, host, _ in ports} == {"127.0.0.1"}
        assert len(ports) == 3  # the scheduler, the worker, and who restarts it
        for _, host, port in ports:
            for scheme, security in (("tcp", None), ("tls", Security.temporary())):  # type: ignore[no-untyped-call]
                with pytest.raises(OSError, match=r"reset|closed|certificate"):
                    Client(f"{scheme}://{host}:{port}", timeout=2, security=security, set_as_default=False)  # type: ignore[no-untyped-call]
        assert address.startswith("tls://127.0.0.1:")
        assert backend.submit(os.getpid).result(60) != os.getpid()


@pytest.mark.parametrize(
    ("scheduler", "plain", "sentence"),
    [
        ("tcp://127.0.0.1:1", False, "can run code as you"),
        ("tcp://elsewhere.example:8786", False, "--plain-tcp"),
        ("tls://elsewhere.example:8786", True, "would have no effect"),
        ("tls://127.0.0.1:1", False, "DASK_DISTRIBUTED__COMM__TLS__CA_FILE"),
        ("127.0.0.1:1", False, "looks like tls://HOST:PORT"),
        (None, True, "none is given"),
    ],
)
def test_an_address_in_the_open_is_refused_before_anything_is_sent(
    scheduler: str | None, plain: bool, sentence: str
) -> None:
    opening = open_backend("dask", jobs=1, scheduler=scheduler, plain_tcp=plain)
    with pytest.raises(InputError, match=sentence), opening:
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Dask leaves its half of a connection
def test_a_scheduler_that_dies_is_one_sentence_and_the_run_goes_on_later(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = a_plan(tmp_path, SMALL)
    expected = undisturbed(tmp_path, plan)
    with a_cluster(tmp_path / "cluster") as cluster:

        def kill(label: str, done: int, total: int, note: str = "") -> None:
            if note.startswith("1 running"):
                cluster.scheduler.kill()

        opening = open_backend("dask", jobs=1, scheduler=cluster.address)
        with pytest.raises(RunStopped, match="What is finished is kept; continue with --out"), opening as backend:
            run(plan, out=tmp_path / "run", command="", backend=backend, progress=kill)
    assert "Traceback" not in capfd.readouterr().err
    run(plan, out=tmp_path / "run", command="")
    assert numbers(tmp_path / "run").equals(expected)


def test_workers_that_differ_or_are_gone_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "LOOK", 0.1)
    monkeypatch.setattr(clusters, "WORKERLESS", 0.5)
    other = tmp_path / "other" / "seepage"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    (other.parent / "seepage-0.0.1.dist-info").mkdir()
    (other.parent / "seepage-0.0.1.dist-info" / "METADATA").write_text("Name: seepage\nVersion: 0.0.1\n")
    plan = a_plan(tmp_path, SMALL)
    with a_cluster(tmp_path / "cluster") as cluster:
        opening = open_backend("dask", jobs=1, scheduler=cluster.address)
        first = cluster.processes[-1]
        with opening as backend:
            first.kill()
            with pytest.raises(RunStopped, match="no workers for"):
                run(plan, out=tmp_path / "run", command="", backend=backend)
        cluster.worker(PYTHONPATH=str(other.parent))
        cluster.waited(1)
        opening = open_backend("dask", jobs=1, scheduler=cluster.address)
        with pytest.raises(RunStopped, match=r"has seepage 0\.0\.1 and not"), opening:
            pass


def test_a_worker_with_other_code_of_the_same_version_is_told() -> None:
    class Answers:
        """A client whose one worker says this of itself."""

        def __init__(self, answer: object) -> None:
            self.answer, self.scheduler = answer, self

        def broadcast(self, **_: object) -> None: ...

        def sync(self, *_: object, **__: object) -> object:
            if self.answer is None:
                raise OSError("it went")
            return {"tls://there": get_versions(PACKAGES)}  # type: ignore[no-untyped-call]

        def run(self, *_: object, **__: object) -> object:
            return {"tls://there": self.answer}

    assert _checked(Answers(identity()), ["tls://there"]) == {"tls://there"}
    for gone in (OSError("it went"), None):  # one that dies while it is asked says nothing of the scheduler
        assert _checked(Answers(gone), ["tls://there"]) == set()
    with pytest.raises(RunStopped, match="has another Seepage"):
        _checked(Answers(Exception("No module named 'seepage.runs.identity'")), ["tls://there"])
    with pytest.raises(RunStopped, match="tls://there has code of Seepage 0123 and not"):
        _checked(Answers(identity() | {"code of Seepage": "0123"}), ["tls://there"])


def test_a_worker_looks_itself_before_each_task(tmp_path: Path) -> None:
    assert _as_expected(identity(), abs, -3) == 3
    with pytest.raises(RunStopped, match="A worker has torch"):
        _as_expected(identity() | {"torch": "1.0"}, abs, -3)
    assert differences(identity(), identity()) == ""
    assert {"stored form", "summary form", "code of Seepage", "python", "seepage"} <= identity().keys()


def test_a_worker_that_finds_other_rows_stops_the_run(tmp_path: Path) -> None:
    task = a_plan(tmp_path, SMALL).tasks[0]
    with pytest.raises(RunStopped, match="finds other rows in the table table"):
        run_task(task, None, rows="another")
