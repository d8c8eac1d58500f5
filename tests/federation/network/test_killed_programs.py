"""Real programs that are killed at random: the training ends, with a model as good as one that nobody disturbed."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import polars as pl
import pytest

from seepage.data import clinic
from seepage.federation.network.config import HostConfig, read_config
from seepage.federation.network.message_log import check_log
from seepage.results import Run, read_summary
from tests.federation.network.parties import Program, write_config

CANARY = "Zzyzx-Canary"
EPOCHS = 100  # of each phase


def files(folder: Path) -> None:
    """Three owners of a clinic's columns; one category is a word that must never leave its owner."""
    table = clinic(rows=1_000).with_row_index("person")
    columns = [name for name in table.columns if name not in ("person", "died")]
    ward = pl.when(pl.col("person") % 7 == 0).then(pl.lit(CANARY)).otherwise(pl.lit("plain"))
    third = len(columns) // 3
    table.select("person", *columns[:third], "died").write_csv(folder / "hospital.csv")
    table.select("person", *columns[third : 2 * third], ward.alias("label of the lab")).write_csv(folder / "lab.csv")
    table.select("person", *columns[2 * third :]).write_csv(folder / "shop.csv")


def configure(folder: Path, run: str, epochs: int) -> None:
    for name in ("hospital", "lab", "shop"):
        own: dict[str, object] = {"name": name, "table": f"{name}.csv", "key": "person", "plain": True}
        own |= {"folder": f"{run}-{name}"}
        if name == "hospital":
            training = {"pretraining": epochs, "finetuning": epochs, "batch_size": 128, "patience": 0, "latent": 6}
            own |= {"target": "died", "training": training, "patience": {"answer": 10.0, "connect": 60.0}}
            own |= {"guests": {"lab": "127.0.0.1:1", "shop": "127.0.0.1:2"}}
        else:
            own |= {"host": "hospital", "listen": "127.0.0.1:0"}
        write_config(folder / f"{name}.toml", own)


def opened(folder: Path) -> dict[str, Program]:
    """Guests that listen; from now on always at the same address."""
    guests = {name: Program(folder, name) for name in ("lab", "shop")}
    for place, (name, program) in enumerate(guests.items(), start=1):
        address = program.address()
        own, host = folder / f"{name}.toml", folder / "hospital.toml"
        own.write_text(own.read_text().replace("127.0.0.1:0", address))
        host.write_text(host.read_text().replace(f'"127.0.0.1:{place}"', f'"{address}"'))
    return guests


def trained(folder: Path, run: str, epochs: int, kills: list[str], seed: int = 0) -> tuple[float, str]:
    """F1 on rows that nobody trained on, after these programs were killed at random moments."""
    configure(folder, run, epochs)
    guests, drawn = opened(folder), random.Random(seed)
    host = Program(folder, "hospital", "host")
    try:
        for name in kills:
            until = time.monotonic() + drawn.uniform(0.5, 4.0)
            while time.monotonic() < until and host.process.poll() is None:
                time.sleep(0.05)  # the moment of a kill is what is drawn here
            if host.process.poll() == 2 and "and then the host again" in host.said:  # a guest was killed at the set-up
                host.kill()
                host = Program(folder, "hospital", "host")
            assert host.process.poll() is None, host.said  # every kill is of a training that goes on
            if name == "hospital":
                host.kill()
                host = Program(folder, "hospital", "host")
            else:
                guests[name].kill()
                guests[name] = Program(folder, name)
        assert host.process.wait(timeout=1_500) == 0, host.said
    finally:
        host.kill()
        for program in guests.values():
            program.kill()
    summary = read_summary(Run(read_config(HostConfig, folder / "hospital.toml").folder / "report"))
    f1 = summary.cells[0].metrics["f1"]  # type: ignore[attr-defined]
    return float(f1.mean), "".join(path.read_text() for path in folder.glob("*.txt"))


@pytest.mark.slow
def test_twenty_killed_guests_and_five_killed_hosts_cost_two_points_at_most(tmp_path: Path) -> None:
    files(tmp_path)
    drawn = random.Random(1)
    kills = ["hospital"] * 5 + [drawn.choice(["lab", "shop"]) for _ in range(20)]
    drawn.shuffle(kills)
    quiet, _ = trained(tmp_path, "quiet", EPOCHS, [])
    disturbed, said = trained(tmp_path, "disturbed", EPOCHS, kills)
    assert disturbed > quiet - 0.02
    assert CANARY not in said
    for name in ("hospital", "lab", "shop"):
        logs = tmp_path / f"disturbed-{name}" / "log"
        assert check_log(logs, None).lines > 1_000
        assert CANARY not in "".join(path.read_text() for path in logs.iterdir())
    for path in (tmp_path / "disturbed-hospital").rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path
    epochs = json.loads((tmp_path / "disturbed-hospital" / "report" / "summary.json").read_text())["cells"]
    assert epochs
