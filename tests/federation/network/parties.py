"""Two or three small companies: their files, keys and configurations, and their programs in threads or processes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tomli_w

from seepage.federation.network.certificates import make_keys
from seepage.federation.network.config import GuestConfig, HostConfig, read_config
from seepage.federation.network.programs import open_door
from seepage.federation.network.serving import Door

ROWS = 120
SHORT = {"latent": 4, "pretraining": 2, "finetuning": 3, "batch_size": 32, "patience": 0}


def people(rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    """People with a key, columns of three owners, and a label that depends on all."""
    draws = np.random.default_rng(seed)
    numbers = draws.normal(size=(rows, 6))
    label = np.where(numbers[:, 0] + numbers[:, 2] + numbers[:, 4] > 0, "yes", "no")
    columns = {f"x{place}": numbers[:, place] for place in range(6)}
    return pl.DataFrame({"person": [f"p{number:04}" for number in range(rows)], **columns, "died": label})


OWNED = {"hospital": ["x0", "x1"], "lab": ["x2", "x3"], "shop": ["x4", "x5"]}


def write_files(folder: Path, table: pl.DataFrame, names: tuple[str, ...] = tuple(OWNED), *, shuffled: bool) -> None:
    """Each party's own file; the hospital, which is the host, has the labels."""
    for number, name in enumerate(names):
        own = table.select("person", *OWNED[name], *(["died"] if name == "hospital" else []))
        if shuffled and name != "hospital":
            own = own.sample(fraction=0.9, shuffle=True, seed=number)
        own.write_csv(folder / f"{name}.csv")


def write_configs(folder: Path, names: tuple[str, ...] = tuple(OWNED), **more: Any) -> Path:
    """A configuration for each; ports are taken when guests are opened. Returns the host's."""
    tls = not more.pop("plain", False)
    if tls and not (folder / "keys").exists():
        make_keys(names, folder / "keys")
    for name in names:
        own: dict[str, Any] = {"name": name, "table": f"{name}.csv", "key": "person", "folder": f"{name}-run"}
        own |= {"tls": _tls(name)} if tls else {"plain": True}
        own |= {key: value for key, value in more.items() if key in ("key", "seed") and value is not None}
        own |= {} if own["key"] else {"leave_out": "person"}
        if name == "hospital":
            guests = {name: f"127.0.0.1:{port}" for port, name in enumerate(names[1:], start=1)}
            own |= {"target": "died", "guests": guests, "training": SHORT | more.get("training", {})}
            own |= {key: value for key, value in more.items() if key in ("absent", "patience")}
        else:
            own |= {"host": "hospital", "listen": "127.0.0.1:0"}
        write_config(folder / f"{name}.toml", own)
    return folder / "hospital.toml"


def write_config(path: Path, said: dict[str, Any]) -> Path:
    path.write_text(tomli_w.dumps(said))
    return path


def _tls(name: str) -> dict[str, str]:
    return {
        "authority": f"keys/{name}/authority.pem",
        "certificate": f"keys/{name}/party.pem",
        "key": f"keys/{name}/party.key",
    }


@contextmanager
def doors(folder: Path, names: tuple[str, ...]) -> Iterator[dict[str, Door]]:
    """Guests that listen in threads of this process."""
    opened: dict[str, Door] = {}
    try:
        for name in names:
            opened[name] = open_door(read_config(GuestConfig, folder / f"{name}.toml"), lambda told: None)
        yield opened
    finally:
        for door in opened.values():
            door.close()


def host_config(folder: Path, addresses: dict[str, str]) -> HostConfig:
    """The host's configuration with the addresses at which guests listen."""
    config = read_config(HostConfig, folder / "hospital.toml")
    return config.model_copy(update={"guests": addresses})


class Program:
    """`seepage party guest` in a process of its own."""

    def __init__(self, folder: Path, name: str, command: str = "guest") -> None:
        self._arguments = [sys.executable, "-m", "seepage", "party", command, "--config", str(folder / f"{name}.toml")]
        self.log = folder / f"{name}-{command}.txt"
        self._output = self.log.open("ab")
        begin = self.log.stat().st_size
        self.process = subprocess.Popen(self._arguments, stdout=self._output, stderr=self._output)
        self._begin = begin

    @property
    def said(self) -> str:
        return self.log.read_bytes()[self._begin :].decode()

    def address(self, limit: float = 60.0) -> str:
        """Where it listens; waits until it says so."""
        until = time.monotonic() + limit
        while " listens at " not in self.said:
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(self.said)
            time.sleep(0.05)
        return self.said.split(" listens at ")[1].split(" ")[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._output.close()

    def end(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=30)
        self._output.close()
        return code
