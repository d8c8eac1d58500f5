"""The local page, asked without a browser."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.report.local import LocalPage
from seepage.results import Run
from tests.report.example import a_cell, a_summary, records_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPage]:
    folder = tmp_path_factory.mktemp("runs")
    run = Run.create(folder / "audit", {"dataset": "adult", "tasks": 1})
    run.write("summary.json", a_summary(records_of(a_cell(), 2)).to_json())
    run.write("report.html", "<p>A report.</p>")
    asked = Run.create(folder / "property", {"kind": "property", "settings": {}})
    asked.write("summary.json", json.dumps({"kind": "property", "schema_version": 1, "cells": [{}]}))
    for name, content in {"list": b"[1]", "bytes": b"\xff", "odd": b'{"settings": [1], "tasks": "many"}'}.items():
        (folder / name).mkdir()
        (folder / name / "run.json").write_bytes(content)
    Run.create(folder / "cut", {}).write("summary.json", "x")
    (folder / "cut" / "summary.json").write_bytes(b"\xff")
    with LocalPage(folder) as page:
        thread = threading.Thread(target=page.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield page
        page.shutdown()


def ask(server: LocalPage, path: str, cookie: str | None = None) -> tuple[int, str, str]:
    """Status, text and policy of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    connection.request("GET", path, headers={"Cookie": cookie or f"{server.cookie}={server.token}"})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), answer.headers["Content-Security-Policy"]
    connection.close()
    return found


def test_a_token_that_is_no_ascii_is_a_wrong_one(server: LocalPage) -> None:
    assert ask(server, "/?token=%C3%A9", cookie="none=1")[0] == 403
    assert ask(server, "/", cookie=f"{server.cookie}=\xe9")[0] == 403
    assert ask(server, "HTTP://[")[0] == 400


@pytest.mark.parametrize("before", ['theme={"a": 1}', "seepage=of-another-folder", "a b=c"])
def test_cookies_of_other_programs_do_not_hide_ours(server: LocalPage, before: str) -> None:
    assert ask(server, "/", cookie=f"{before}; {server.cookie}={server.token}")[0] == 200
    assert ask(server, "/", cookie=f"{before}; not-seepage={server.token}")[0] == 403


def test_files_of_others_do_not_hide_runs(server: LocalPage) -> None:
    assert {run["name"] for run in json.loads(ask(server, "/runs.json")[1])} == {
        "audit", "property", "list", "bytes", "odd", "cut",
    }  # fmt: skip
    assert ask(server, "/")[0] == 200


@pytest.mark.parametrize(("other", "said"), [("property", "is of property inference"), ("cut", "is no text")])
def test_what_cannot_be_compared_is_said(server: LocalPage, other: str, said: str) -> None:
    status, text, _ = ask(server, f"/compare?first=audit&second={other}")
    assert status == 200
    assert said in text


def test_a_report_is_shown_in_a_sandbox(server: LocalPage) -> None:
    status, text, policy = ask(server, "/report/audit")
    assert (status, text) == (200, "<p>A report.</p>")
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; ")
    assert "allow-same-origin" not in policy


@pytest.mark.parametrize("port", [-1, 65536, 70000])
def test_a_port_that_cannot_be(tmp_path: Path, port: int) -> None:
    with pytest.raises(InputError, match="ports are 1 to 65535, or 0 for a free one"):
        LocalPage(tmp_path, port)
