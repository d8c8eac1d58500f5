"""Open ports, watched while two commands work; `make fault-tests` watches all of them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tests.faults.ports import listening, watch
from tests.faults.tally import Tally


def test_an_open_port_is_seen_whatever_its_kind(tmp_path: Path) -> None:
    before = set(listening())
    with socket.create_server(("127.0.0.1", 0)) as _, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_UNIX) as file:
            file.bind(str(tmp_path / "file"))
            file.listen()
            seen = set(listening()) - before
    assert {host for _, host, _ in seen} == {"127.0.0.1", str(tmp_path / "file")}
    assert len(seen) == 3
    assert {pid for pid, _, _ in seen} == {os.getpid()}


def test_serve_and_a_guest_open_one_port_each_for_this_machine() -> None:
    tally = Tally("ports")
    watch(("serve", "guest"), tally)
    assert tally.told == []
