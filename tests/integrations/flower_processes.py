"""Flower's deployment engine as real processes on 127.0.0.1: a SuperLink, SuperNodes, and runs sent to them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "flower"
BIN = Path(sys.executable).parent
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "OMP_NUM_THREADS": "1",
}


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Flower:
    """A SuperLink with its SuperNodes, in a folder with the tutorial's app.

    Args:
        folder: with the app and the hospitals' files.
        tls: certificates and keys of the nodes in this folder, in place of an open connection.
    """

    folder: Path
    nodes: int = 3
    tls: Path | None = None
    port: int = field(default_factory=free_port)
    link: subprocess.Popen[bytes] | None = None
    supernodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {
            **os.environ,
            **QUIET,
            "FLWR_HOME": str(self.folder / ".flwr"),
            "PYTHONPATH": path,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }

    def start(self) -> None:
        home = self.folder / ".flwr"
        home.mkdir(exist_ok=True)
        secured = f'root-certificates = "{self.tls / "ca.crt"}"' if self.tls else "insecure = true"
        address = f'[superlink.hospitals]\naddress = "127.0.0.1:{self.port}"'
        (home / "config.toml").write_text(f'[superlink]\ndefault = "hospitals"\n\n{address}\n{secured}\n')
        self.start_link()
        for number in range(1, self.nodes + 1):
            if self.tls is not None:
                self.command("supernode", "register", str(self.tls / f"site-{number}.pub"), "hospitals")
            self.start_node(number)

    def start_link(self) -> None:
        words = ["--port", str(self.port)]
        if self.tls is None:
            words.append("--insecure")
        else:
            words += ["--ssl-ca-certfile", str(self.tls / "ca.crt"), "--ssl-certfile", str(self.tls / "server.pem")]
            words += ["--ssl-keyfile", str(self.tls / "server.key"), "--enable-supernode-auth"]
        self.link = self._begin("flower-superlink", words, "link.log")
        self._await_port()

    def start_node(self, number: int) -> subprocess.Popen[bytes]:
        words = ["--superlink", f"127.0.0.1:{self.port}", "--port", str(free_port())]
        words += ["--node-config", f'rows="{self.folder / f"site-{number}.csv"}"']
        if self.tls is None:
            words.append("--insecure")
        else:
            words += ["--root-certificates", str(self.tls / "ca.crt")]
            words += ["--auth-supernode-private-key", str(self.tls / f"site-{number}")]
        node = self._begin("flower-supernode", words, f"site-{number}.log")
        self.supernodes.append(node)
        return node

    def _begin(self, program: str, words: list[str], log: str) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as out:
            return subprocess.Popen(
                [str(BIN / program), *words],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.env,
                cwd=self.folder,
                start_new_session=True,
            )

    def _await_port(self, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.link is not None
            assert self.link.poll() is None, (self.folder / "link.log").read_text()
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError("the SuperLink does not listen")

    def command(self, *words: str) -> str:
        """One command of Flower's own, which must work."""
        done = subprocess.run(
            [str(BIN / "flwr"), *words], capture_output=True, text=True, env=self.env, cwd=self.folder, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def begin_run(self, **config: object) -> subprocess.Popen[str]:
        """Send the app; its log comes on stdout."""
        words = [f"{name.replace('_', '-')}={_toml(value)}" for name, value in config.items()]
        return subprocess.Popen(
            [str(BIN / "flwr"), "run", ".", "hospitals", "--stream", "--run-config", " ".join(words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.env,
            cwd=self.folder,
            start_new_session=True,
        )

    def run(self, *, seconds: float = 240, **config: object) -> str:
        """Train, and return the log."""
        running = self.begin_run(**config)
        try:
            out, _ = running.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            stop(running)
            raise AssertionError(f"no end within {seconds} s:\n{running.communicate()[0]}") from None
        return out

    def stop(self) -> None:
        for each in (*self.supernodes, self.link):
            if each is not None:
                stop(each)


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str | Path) else str(value)


def stop(process: subprocess.Popen[bytes] | subprocess.Popen[str], how: int = signal.SIGKILL) -> None:
    """End a process that we started, with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, how)
    process.wait(timeout=20)
    if process.stdout is not None:
        process.stdout.close()


def app_in(folder: Path, rows: int, clientapp: str = "hospitals.client_app:app") -> Path:
    """The tutorial's app in a folder of its own, with three hospitals of so many rows."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".flwr"))
    file = folder / "pyproject.toml"
    file.write_text(file.read_text().replace("hospitals.client_app:app", clientapp))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "deal_rows.py", str(rows)], cwd=folder, check=True, env=env)
    return folder


@contextmanager
def flower_in(folder: Path, **options: object) -> Iterator[Flower]:
    """SuperLink and SuperNodes as long as the block lasts."""
    own = Flower(folder, **options)  # type: ignore[arg-type]
    try:
        own.start()
        yield own
    finally:
        own.stop()
