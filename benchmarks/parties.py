"""Parties of vertical learning between each other: what their protocols cost.

    python benchmarks/parties.py [--quick] [--keys 1000000] --json

`psi`: private set intersection of two parties with 100,000 keys each, half of them shared; both sides on this machine,
one after the other, each with a process for each core. The limit we keep: 60 seconds on two cores. `ratio`: a plain
loop over one key at a time, timed on a sample in the same run, beside ours. `memory_mb`: by how much the process that
holds both sides grew. `bytes`: of each message.

`network`: Bank Marketing, five guests in five processes and the host in a sixth, gRPC with mutual TLS on 127.0.0.1,
batches of 512, an epoch of each phase after a first one; beside the same federation in one process, with the same
draws, with as many threads as make it fastest. `ratio`: seconds of an epoch apart to those together (limit 1.6).
`bytes_ratio`: bytes of all frames to what the shapes of their tensors say (limit 1.1); what TCP and TLS add is not in
it. `slow_questions`: one guest answers 50 ms late; by how many such delays each question took longer (limit 1, not 5).
`difference`: the largest difference of a loss to the federation in one process.

`far` (`--only far`, as root): host and guest in two network namespaces, packets carried by this program: 80 ms there
and back, 1 % lost.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import heapq
import json
import os
import random
import resource
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import tomli_w
import torch
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from seepage.federation.vertical import GuestSide, HostSide, new_session
from seepage.federation.vertical.curve import PRIME
from seepage.federation.vertical.curve_workers import cores

Made = TypeVar("Made")
SAMPLE = 1_000  # keys of the plain loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 keys instead of 100,000")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--keys", type=int, help="keys of each party")
    parser.add_argument("--only", choices=["psi", "network", "far"], help="one part; far is run only so")
    parser.add_argument("--guest", type=Path, help=argparse.SUPPRESS)  # a process of this benchmark
    parser.add_argument("--host", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--delay", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.guest is not None:
        return serve(options.guest, options.delay)
    if options.host is not None:
        return print(json.dumps(trained(options.host)))
    keys = options.keys or (10_000 if options.quick else 100_000)
    found: dict[str, object] = {"benchmark": "parties", "cores": cores()}
    if options.only in (None, "psi"):
        found["psi"] = psi(keys)
    if options.only in (None, "network"):
        found["network"] = network(2 if options.quick else 4, 5_000 if options.quick else 45_211)
    if options.only == "far":
        found["far"] = far()
    print(json.dumps(found, indent=2))


def psi(count: int) -> dict[str, object]:
    """Seconds, bytes and memory of one intersection."""
    ours = [b"person %d" % number for number in range(count)]
    theirs = [b"person %d" % number for number in range(count // 2, count // 2 + count)]
    steps: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Made]) -> Made:
        begin = time.perf_counter()
        made = work()
        steps[step] = round(time.perf_counter() - begin, 2)
        return made

    plain = one_at_a_time(ours[:SAMPLE], theirs[:SAMPLE]) * count / SAMPLE
    before, session = largest(), new_session()
    host = timed("host blinds", lambda: HostSide("guest", ours, session))
    guest = timed("guest blinds", lambda: GuestSide("host", theirs, session))
    asked = host.ask()
    answered = timed("guest answers", lambda: guest.answer(asked))
    rows = timed("host matches", lambda: host.match(answered))
    told = timed("host tells", lambda: host.tell(rows))
    found = timed("guest reads", lambda: guest.rows(told))
    assert np.array_equal(rows, found + count // 2)
    assert len(rows) == count - count // 2
    seconds = sum(steps.values())
    return {
        "keys": count,
        "seconds": round(seconds, 2),
        "steps": steps,
        "bytes": {"asked": len(asked), "answered": len(answered), "told": len(told)},
        "memory_mb": round((largest() - before) / 1024),
        "plain_seconds": round(plain, 1),
        "ratio": round(plain / seconds, 2),
    }


def largest() -> int:
    """The largest resident size so far, in KB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def one_at_a_time(ours: list[bytes], theirs: list[bytes]) -> float:
    """Seconds of the same protocol as anyone would write it first: one key, one point, Euler's criterion."""
    begin = time.perf_counter()
    secrets = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    points = [set(), set()]  # type: list[set[bytes]]
    for keys, (first, second), side in ((ours, secrets, 0), (theirs, secrets[::-1], 1)):
        for key in keys:
            point = first.exchange(X25519PublicKey.from_public_bytes(plain_point(key)))
            points[side].add(second.exchange(X25519PublicKey.from_public_bytes(point)))
    assert len(points[0] & points[1]) == len(set(ours) & set(theirs))
    return time.perf_counter() - begin


def plain_point(key: bytes) -> bytes:
    """A point of the curve for a key, drawn until there is one."""
    draw = 0
    while True:
        u = int.from_bytes(hashlib.sha256(b"%d" % draw + key).digest(), "little") % 2**255 % PRIME
        if pow(u * (u * (u + 486662) + 1) % PRIME, (PRIME - 1) // 2, PRIME) == 1:
            return u.to_bytes(32, "little")
        draw += 1


GUESTS = 5
BATCH = 512
LATE = 0.05


def network(epochs: int, rows: int) -> dict[str, object]:
    """Seconds of an epoch apart and together, bytes, and what a slow guest costs."""
    from seepage.data.request import Request
    from seepage.data.source import open_source
    from seepage.federation.vertical import dealt

    source = open_source(Request(data="bank_marketing"))
    table = source.table.to_frame().sample(n=min(rows, len(source.table)), seed=0)
    columns = dealt(list(source.table.schema.names), GUESTS)
    names = [f"guest{number}" for number in range(1, GUESTS + 1)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_parties(folder, table, source.table.schema.target.name, dict(zip(names, columns, strict=True)), epochs)
        # One thread adds up as the parties do; several may be faster, and then they are the reference of the seconds.
        seconds, losses = in_one_process(folder, names, 1)
        seconds = min(seconds, in_one_process(folder, names, cores())[0])
        apart = among_processes(folder, names, "apart")
        late = among_processes(folder, names, "late", slow=names[2])
    questions = apart["questions"]
    return {
        "rows": table.height,
        "guests": GUESTS,
        "epochs": epochs,
        "seconds_together": round(seconds, 3),
        "seconds_apart": round(apart["seconds"], 3),
        "ratio": round(apart["seconds"] / seconds, 2),
        "bytes_ratio": round(apart["sent"] / apart["shapes"], 3),
        "seconds_slow": round(late["seconds"], 3),
        "slow_questions": round((late["seconds"] - apart["seconds"]) / (LATE * questions), 2),
        "difference": max(abs(a - b) for a, b in zip(apart["losses"], losses, strict=True)),
    }


def write_parties(folder: Path, table: pl.DataFrame, target: str, columns: dict[str, list[str]], epochs: int) -> None:
    """Files, keys and configurations of a host with labels only and its guests."""
    from seepage.federation.network.certificates import make_keys

    make_keys(["bank", *columns], folder / "keys")
    training = {"latent": 5, "pretraining": epochs, "finetuning": epochs, "batch_size": BATCH, "patience": 0}
    table.select(target).with_row_index("row").write_csv(folder / "bank.csv")
    common: dict[str, Any] = {"target": target, "leave_out": "row", "guests": {}, "training": training, "seed": 3}
    (folder / "bank.toml").write_text(tomli_w.dumps(common | _own("bank")))
    for name, own in columns.items():
        table.select(own).write_csv(folder / f"{name}.csv")
        said = {"host": "bank", "listen": "127.0.0.1:0", "seed": 3} | _own(name)
        (folder / f"{name}.toml").write_text(tomli_w.dumps(said))


def _own(name: str) -> dict[str, Any]:
    keys = {"authority": "authority.pem", "certificate": "party.pem", "key": "party.key"}
    tls = {each: f"keys/{name}/{file}" for each, file in keys.items()}
    return {"name": name, "table": f"{name}.csv", "folder": f"{name}-run", "tls": tls}


def serve(config: Path, delay: float) -> None:
    """A guest that may be slow, in this process."""
    from seepage.federation.network.config import GuestConfig, read_config
    from seepage.federation.network.guest_party import GuestParty
    from seepage.federation.network.programs import as_a_program, open_door

    as_a_program(1)
    respond = GuestParty.respond

    def late(self: GuestParty, content: bytes) -> bytes:
        time.sleep(delay)
        return respond(self, content)

    if delay:
        GuestParty.respond = late  # type: ignore[method-assign]
    door = open_door(read_config(GuestConfig, config), lambda told: print(told, file=sys.stderr))
    print(door.address, flush=True)
    sys.stdin.read()  # until the benchmark ends
    door.close()


@contextmanager
def guest(config: Path, delay: float = 0.0, inside: tuple[str, ...] = ()) -> Iterator[str]:
    """The address of a guest in a process of its own."""
    command = [*inside, sys.executable, __file__, "--guest", str(config), "--delay", str(delay)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(timeout=30)


def among_processes(folder: Path, names: list[str], run: str, slow: str = "") -> dict[str, Any]:
    """Train among processes; the host is one, too."""
    with ExitStack() as stack:
        addresses = {
            name: stack.enter_context(guest(folder / f"{name}.toml", LATE if name == slow else 0.0)) for name in names
        }
        return hosted(folder, addresses, run)


def hosted(folder: Path, addresses: dict[str, str], run: str, inside: tuple[str, ...] = ()) -> dict[str, Any]:
    """Let a host train in a process of its own; what it measured."""
    text = (folder / "bank.toml").read_text().replace("[guests]", "")
    text = text.replace('folder = "bank-run"', f'folder = "{run}"')
    listed = "\n".join(f'{name} = "{address}"' for name, address in addresses.items())
    (folder / "asked.toml").write_text(f"{text}\n[guests]\n{listed}\n")
    command = [*inside, sys.executable, __file__, "--host", str(folder / "asked.toml")]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def trained(config: Path) -> dict[str, Any]:
    """Train as the host, in this process."""
    from seepage.federation.network.config import HostConfig, read_config
    from seepage.federation.network.message_log import _lines, log_files
    from seepage.federation.network.programs import as_a_program, open_host

    as_a_program(1)
    read = read_config(HostConfig, config)
    with open_host(read) as (party, _):
        model = party.train()
    lines = [facts for file in log_files(read.folder / "log") for _, facts, _ in _lines(file) if facts.get("kinds")]
    tensors = [facts for facts in lines if facts["step"] in ("compute", "rebuild", "learn")]
    return {
        "seconds": epoch_seconds(party.history.epochs),
        "losses": [epoch.loss for epoch in party.history.epochs],
        "sent": sum(facts["bytes"] for facts in tensors),
        "shapes": sum(sum(facts["kinds"].values()) for facts in tensors),
        "questions": questions_of(model.split),
    }


def questions_of(split: dict[str, np.ndarray]) -> int:
    """One after the other in an epoch of each phase: two and one for a batch (gradients come with the next question),
    and as many for a piece of the validation."""
    return 3 * -(-len(split["train"]) // BATCH) + 3 * -(-len(split["validation"]) // 4096)


def epoch_seconds(epochs: list[Any]) -> float:
    """The fastest epoch of each phase after its first, added up."""
    phases: dict[str, list[float]] = {}
    for epoch in epochs:
        phases.setdefault(epoch.phase, []).append(epoch.seconds)
    return sum(min(seconds[1:] or seconds) for seconds in phases.values())


def in_one_process(folder: Path, names: list[str], threads: int) -> tuple[float, list[float]]:
    """The same federation in this process, with the rows and draws of the parties."""
    from seepage._core import Streams
    from seepage.federation.network.config import HostConfig, read_config
    from seepage.federation.network.programs import host_rows
    from seepage.federation.vertical import AlignedRows, Columns, Failures, Federation, make_design
    from seepage.models.tabnet_split import TabNetParts

    torch.set_num_threads(threads)
    text = (folder / "bank.toml").read_text().replace("[guests]", '[guests]\nnobody = "127.0.0.1:1"')
    (folder / "one.toml").write_text(text)
    config = read_config(HostConfig, folder / "one.toml")
    rows = host_rows(config, config.table)
    order = Streams(3).numpy("split").permutation(len(rows.labels))
    test = held = max(1, round(0.15 * len(order)))
    held_out, train = order[test : test + held], order[test + held :]
    frames = {name: pl.read_csv(folder / f"{name}.csv") for name in names}
    encoded = [Columns.fit(name, frame, train).encode(frame) for name, frame in frames.items()]
    federation = Federation(
        AlignedRows(names, encoded, torch.from_numpy(rows.labels), len(rows.classes)),
        design=make_design("tabvfl"),
        parts=TabNetParts(),
        training=config.training.training,
        streams=Streams(3),
        failures=Failures(method="cache"),
    )
    history = federation.fit(train, held_out)
    return epoch_seconds(history.epochs), [epoch.loss for epoch in history.epochs]


TUN, NO_HEADER, SET_NAME = 0x0001, 0x1000, 0x400454CA


def far() -> dict[str, object]:
    """Host and guest in two network namespaces, 80 ms apart, every hundredth packet lost."""
    table = pl.DataFrame({f"x{n}": np.random.default_rng(n).normal(size=2_000) for n in range(8)})
    table = table.with_columns(y=(pl.col("x0") + pl.col("x7") > 0).cast(pl.String))
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        write_parties(folder, table, "y", {"guest1": [f"x{n}" for n in range(8)]}, 2)
        near = among_processes(folder, ["guest1"], "near")
        inside = {name: stack.enter_context(namespace(name)) for name in ("seepage-a", "seepage-b")}
        carried = stack.enter_context(wire([wired("seepage-a", "10.77.0.1"), wired("seepage-b", "10.77.0.2")]))
        text = (folder / "guest1.toml").read_text().replace("127.0.0.1:0", "10.77.0.2:7443")
        (folder / "guest1.toml").write_text(text)
        address = stack.enter_context(guest(folder / "guest1.toml", inside=inside["seepage-b"]))
        away = hosted(folder, {"guest1": address}, "far", inside["seepage-a"])
    return {
        "seconds_near": round(near["seconds"], 2),
        "seconds_far": round(away["seconds"], 2),
        "questions": away["questions"],
        "packets": carried["packets"],
        "lost": carried["lost"],
        "difference": max(abs(a - b) for a, b in zip(near["losses"], away["losses"], strict=True)),
    }


@contextmanager
def namespace(name: str) -> Iterator[tuple[str, ...]]:
    """A network namespace of our own; what runs a command in it."""
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield ("ip", "netns", "exec", name)
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def wired(name: str, address: str) -> int:
    """The near end of a wire into a namespace, which has this address there."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, SET_NAME, struct.pack("16sH", name.encode(), TUN | NO_HEADER))
    subprocess.run(["ip", "link", "set", name, "netns", name], check=True)
    subprocess.run(["ip", "-n", name, "address", "add", f"{address}/24", "dev", name], check=True)
    subprocess.run(["ip", "-n", name, "link", "set", name, "up"], check=True)
    return end


@contextmanager
def wire(ends: list[int], delay: float = 0.04, loss: float = 0.01) -> Iterator[dict[str, int]]:
    """Carry packets between two ends, late, and not all of them."""
    counts, stop, drawn = {"packets": 0, "lost": 0}, threading.Event(), random.Random(0)

    def carry() -> None:
        waiting: list[tuple[float, int, int, bytes]] = []
        while not stop.is_set():
            for end in select.select(ends, [], [], 0.002)[0]:
                packet = os.read(end, 65_536)
                counts["packets"] += 1
                if drawn.random() < loss:
                    counts["lost"] += 1
                    continue
                heapq.heappush(waiting, (time.monotonic() + delay, counts["packets"], ends[end == ends[0]], packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, other, packet = heapq.heappop(waiting)
                os.write(other, packet)

    thread = threading.Thread(target=carry, daemon=True)
    thread.start()
    try:
        yield counts
    finally:
        stop.set()
        thread.join()
        for end in ends:
            os.close(end)


if __name__ == "__main__":
    main()
