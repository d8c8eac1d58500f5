"""The local page, asked without a browser."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.report import arriving
from seepage.report.local import LocalPage, plain_bytes
from seepage.results import Run, Summary, TaskDone
from seepage.results.store import STORE_VERSION
from tests.report.example import HOSTILE, a_cell, every_study, plain, records_of

STUDIES = every_study()


def begun(folder: Path, study: str, tasks: int) -> Run:
    head = {"store_version": STORE_VERSION, "study": study, "dataset": "clinic", "tasks": tasks, "command": HOSTILE}
    return Run.create(folder, dict(head))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPage]:
    folder = tmp_path_factory.mktemp("runs")
    for study, summary in STUDIES.items():
        run = begun(folder / study, study, 1)
        run.write("summary.json", summary.to_json())
        run.write("report.html", "<p>A report.</p>")
        going = begun(folder / f"{study} going on", study, 4)
        going.finish(TaskDone(task="one", reason=HOSTILE))
        going.broke("two", "Traceback: SECRET-7731")
    for name, content in {"list": b"[1]", "bytes": b"\xff", "odd": b'{"settings": [1], "tasks": "many"}'}.items():
        (folder / name).mkdir()
        (folder / name / "run.json").write_bytes(content)
    Run.create(folder / "older", {"kind": "property", "settings": {}}).write("summary.json", "{}")
    Run.create(folder / "cut", {}).write("summary.json", b"\xff")
    with LocalPage(folder) as page:
        thread = threading.Thread(target=page.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield page
        page.shutdown()


def ask(server: LocalPage, path: str, cookie: str | None = None, within: str = "iframe") -> tuple[int, str, str]:
    """Status, text and policy of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    headers = {"Cookie": cookie or f"{server.cookie}={server.token}", "Sec-Fetch-Dest": within}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    told = answer.status, answer.read().decode(), answer.headers["Content-Security-Policy"]
    connection.close()
    return told


def test_a_token_that_is_no_ascii_is_a_wrong_one(server: LocalPage) -> None:
    assert ask(server, "/?token=%C3%A9", cookie="none=1")[0] == 403
    assert ask(server, "/", cookie=f"{server.cookie}=\xe9")[0] == 403
    assert ask(server, "HTTP://[")[0] == 400


@pytest.mark.parametrize("before", ['theme={"a": 1}', "seepage=of-another-folder", "a b=c"])
def test_cookies_of_other_programs_do_not_hide_ours(server: LocalPage, before: str) -> None:
    assert ask(server, "/", cookie=f"{before}; {server.cookie}={server.token}")[0] == 200
    assert ask(server, "/", cookie=f"{before}; not-seepage={server.token}")[0] == 403


def test_files_of_others_do_not_hide_runs(server: LocalPage) -> None:
    listed = {run["name"]: run for run in json.loads(ask(server, "/runs.json")[1])}
    assert set(listed) == {*STUDIES, *(f"{s} going on" for s in STUDIES), "list", "bytes", "odd", "older", "cut"}
    assert listed["older"]["progress"] == listed["bytes"]["progress"] == "cannot be read"
    assert ask(server, "/")[0] == 200


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_is_followed_alike(server: LocalPage, study: str) -> None:
    listed = {run["name"]: run for run in json.loads(ask(server, "/runs.json")[1])}
    going = listed[f"{study} going on"]
    assert (plain(going["progress"]), going["study"], going["finished"]) == ("1 of 4 tasks finished", study, False)
    assert (listed[study]["progress"], listed[study]["report"]) == ("finished", True)
    status, text, policy = ask(server, f"/run/{study}%20going%20on")
    assert status == 200
    assert "1 of 4 tasks finished" in plain(text)
    assert "1 task stopped with an internal error" in text
    assert "&lt;/script&gt;" in text
    assert "<script>alert" not in text
    assert "SECRET-7731" not in text  # a traceback may hold values
    assert "script-src 'self'" in policy


def test_a_run_of_an_earlier_form_says_so(server: LocalPage) -> None:
    status, text, _ = ask(server, "/run/older")
    assert status == 200
    assert "was written by an earlier version of Seepage" in text
    assert ask(server, "/run/nothing")[0] == ask(server, "/run/..%2F..")[0] == 404


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("property", "One run is of the study rows, the other of property"),
        ("cut", "is damaged, or was changed"),
        ("older", "an earlier version of Seepage"),
        ("nothing", "Choose two runs of the list."),
    ],
)
def test_what_cannot_be_compared_is_said(server: LocalPage, other: str, said: str) -> None:
    status, text, _ = ask(server, f"/compare?first=rows&second={other}")
    assert status == 200
    assert said in text
    assert "What differs" not in text


@pytest.mark.parametrize("study", STUDIES)
def test_runs_of_every_study_are_compared(server: LocalPage, study: str) -> None:
    text = ask(server, f"/compare?first={study}&second={study}")[1]
    assert "What differs" in text
    assert "Only in the first run: 0. Only in the second: 0." in text


def test_a_report_is_shown_in_a_sandbox(server: LocalPage) -> None:
    status, text, policy = ask(server, "/framed/rows")
    assert (status, text) == (200, "<p>A report.</p>")
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; ")
    assert "allow-same-origin" not in policy
    assert ask(server, "/framed/rows%20going%20on")[0] == ask(server, "/report/nothing")[0] == 404
    assert ask(server, "/framed/rows", within="document")[0] == 403  # alone it could lead its reader away
    status, around, policy = ask(server, "/report/rows", within="document")
    assert 'src="/framed/rows" sandbox="allow-scripts"' in around
    assert "frame-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def outlined(run: Run) -> Run:
    """What a run says before its first task, and one of its two cells."""
    first, second = a_cell(batch_size=1), a_cell(batch_size=8)
    whole = STUDIES["rows"].model_dump(mode="json", exclude={"cells", "not_run", "unfinished", "utility"})
    cells = [{"file": cell.id, "cell": cell.id, "what": f"batch {cell.batch_size}"} for cell in (first, second)]
    outline = {
        "head": {name: value for name, value in whole.items() if name in Summary.model_fields},
        "variants": [{"name": "", "dataset": "clinic", "columns": whole["dataset"]["columns"]}],
        "tasks": [{"id": "one", "what": "mlp", "cells": cells}],
    }
    run.write("outline.json", json.dumps(outline))
    run.add(records_of(first, 3))
    return run


def test_what_is_there_of_a_run_is_shown_and_compared(tmp_path: Path) -> None:
    outlined(begun(tmp_path / "part", "rows", 1))
    begun(tmp_path / "rows", "rows", 1).write("summary.json", STUDIES["rows"].to_json())
    with LocalPage(tmp_path) as page:
        thread = threading.Thread(target=page.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        status, report, policy = ask(page, "/framed/part")
        listed = ask(page, "/")[1]
        both = ask(page, "/compare?first=part&second=rows")[1]
        page.shutdown()
    assert status == 200
    assert policy.startswith("sandbox allow-scripts")
    assert "The run is not finished: 1 of 2 settings and 0 of 1 tasks are there." in report
    assert "batch 8" in report
    assert "Open the report of what is there of part" in listed
    assert "part: The run is not finished" in both
    assert "What differs" in both


@pytest.mark.parametrize("port", [-1, 65536, 70000])
def test_a_port_that_cannot_be(tmp_path: Path, port: int) -> None:
    with pytest.raises(InputError, match="ports are 1 to 65535, or 0 for a free one"):
        LocalPage(tmp_path, port)


@contextmanager
def served(folder: Path) -> Iterator[LocalPage]:
    """The page of a folder."""
    with LocalPage(folder) as page:
        thread = threading.Thread(target=page.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield page
        page.shutdown()


@pytest.mark.parametrize("name", ["report.html", "summary.json", "run.json", "records/x.parquet", "tasks/x.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_plain_file_is_not_opened(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "secret.html").write_text("SECRET-7731")
    run = begun(tmp_path / "runs" / "odd", "rows", 1)
    for file, text in (("summary.json", STUDIES["rows"].to_json()), ("report.html", "<p>A report.</p>")):
        run.write(file, text)
    (run.path / name).parent.mkdir(exist_ok=True)
    (run.path / name).unlink(missing_ok=True)
    if kind == "link":
        (run.path / name).symlink_to(tmp_path / "secret.html")
    else:
        os.mkfifo(run.path / name)
    with served(tmp_path / "runs") as page:
        assert ask(page, "/framed/odd")[0] == ask(page, "/report/odd")[0] == 404
        for path in ("/", "/runs.json", "/run/odd", "/compare?first=odd&second=odd"):
            status, text, _ = ask(page, path)
            assert status == 200
            assert "SECRET-7731" not in text
        assert f"The run holds {name}, which is neither a file nor a folder" in ask(page, "/run/odd")[1]


def test_a_run_folder_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    begun(tmp_path / "elsewhere", "rows", 1).write("report.html", "SECRET-7731")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
    with served(tmp_path / "runs") as page:
        assert ask(page, "/framed/linked")[0] == 404
        assert "The run holds linked" in ask(page, "/run/linked")[1]


def test_a_report_that_becomes_a_link_after_it_was_looked_at_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match=r"symbolic|plain"):
            plain_bytes(tmp_path / name)
    assert plain_bytes(tmp_path / "secret") == b"SECRET"


def test_half_questions_do_not_hold_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path / "run", "rows", 1)
    with served(tmp_path) as page, ExitStack() as stack:
        before = threading.active_count()
        for _ in range(3 * arriving.WAITING):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", page.server_port)))
            half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert ask(page, "/")[0] == 200  # there is room for who asks a whole question
        assert threading.active_count() - before <= arriving.WAITING + 5
        monkeypatch.setattr(arriving, "SLOW", 0.0)  # those that are left had their time
        half.settimeout(5)
        assert half.recv(1) == b""


def test_a_name_that_leads_elsewhere_is_no_capture(server: LocalPage) -> None:
    assert (
        ask(server, "/capture/..%2Fsecret")[0] == ask(server, "/capture/rows")[0] == ask(server, "/capture/")[0] == 404
    )
