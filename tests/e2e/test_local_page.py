"""`seepage serve` in a real browser: the list, a run going on, two compared; this machine only."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from seepage import captures
from seepage._core import InputError
from seepage.report import write_report
from seepage.report.local import LocalPage
from seepage.results import Run, TaskDone
from seepage.results.store import STORE_VERSION
from tests.e2e.axe import serious
from tests.report.example import a_cell, a_summary, records_of

pytest_plugins = ["tests.e2e.browser"]
pytestmark = pytest.mark.browser


def begun(folder: Path, dataset: str, tasks: int) -> Run:
    return Run.create(folder, {"store_version": STORE_VERSION, "study": "rows", "dataset": dataset, "tasks": tasks})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalPage]:
    for name in ("first", "second"):
        run = begun(tmp_path / name, "adult", 1)
        run.write("summary.json", a_summary().to_json())
        write_report(run)
    begun(tmp_path / "going on", "bank", 4).add(records_of(a_cell()))
    with LocalPage(tmp_path) as page:
        thread = threading.Thread(target=page.serve_forever, daemon=True)
        thread.start()
        yield page
        page.shutdown()


def test_runs_are_listed_opened_followed_and_compared(server: LocalPage, browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.address)
    assert "token" not in page.url
    expect(page.locator("tbody tr")).to_have_count(3)
    going = page.locator("tr", has_text="going on")
    going.get_by_text("0 of 4 tasks finished").wait_for()
    assert serious(page) == []
    Run(tmp_path / "going on").finish(TaskDone(task="one"))
    going.get_by_text("1 of 4 tasks finished").wait_for(timeout=10_000)  # it looks itself
    page.get_by_role("link", name="Compare two").click()
    page.select_option("#first", "first")
    page.select_option("#second", "second")
    page.get_by_role("button", name="Compare").click()
    page.locator("tbody tr").nth(1).wait_for()
    assert serious(page) == []
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("link", name="Open the report of first").click()
    report = page.frame_locator("iframe")
    report.locator("#plot-leakage svg.main-svg").first.wait_for()
    assert page.frames[1].evaluate("origin") == "null"  # a report is in a sandbox, and draws its plots there
    assert serious(page) == []
    page.reload()
    report.locator("#plot-leakage svg.main-svg").first.wait_for()
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(3)
    assert complaints == []
    assert all(url.startswith((f"http://127.0.0.1:{server.server_port}/", "data:")) for url in asked)
    page.close()


def test_the_page_of_a_run_follows_it_to_its_report(server: LocalPage, browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(server.address)
    page.get_by_role("link", name="going on").first.click()
    page.get_by_text("0 of 4 tasks finished").wait_for()
    assert serious(page) == []
    run = Run(tmp_path / "going on")
    for name in "abcd":
        run.finish(TaskDone(task=name))
    page.get_by_text("4 of 4 tasks finished").wait_for(timeout=10_000)
    run.write("summary.json", a_summary().to_json())
    write_report(run)
    page.get_by_role("link", name="Open the report of going on").wait_for(timeout=10_000)
    expect(page.locator(".state")).to_have_text("finished")
    page.close()


def send(folder: Path, number: int) -> None:
    weights = {"weight": np.zeros((2, 3), "float32")}
    slope = {"weight": np.full((2, 3), float(number), "float32")}
    captures.write(folder, before=weights, gradient=slope, rows=8, client="a", round=number, add=folder.exists())


def test_the_page_of_a_capture_grows_with_it_and_keeps_the_focus(
    server: LocalPage, browser: Browser, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 500, "height": 500}, color_scheme="dark")
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(server.address)
    assert not page.get_by_text("Captures of federations").count()
    send(tmp_path / "hospitals", 1)
    page.get_by_role("link", name="hospitals").wait_for(timeout=10_000)  # it appears by itself
    assert serious(page) == []
    page.get_by_role("link", name="hospitals").click()
    expect(page.locator("#rounds tbody tr")).to_have_count(1)  # a click does not wait for the next page
    assert serious(page) == []
    page.locator("#rounds .scroll").focus()
    send(tmp_path / "hospitals", 2)
    page.locator("#rounds tbody tr", has_text="2").first.wait_for(timeout=10_000)
    expect(page.locator("#rounds tbody tr")).to_have_count(2)
    assert page.locator("#rounds .scroll").evaluate("each => each === document.activeElement")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []
    page.close()


def status(address: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_without_the_token_or_from_another_name_nothing_is_told(server: LocalPage) -> None:
    base = f"http://127.0.0.1:{server.server_port}"
    entered = {"Cookie": f"{server.cookie}={server.token}"}
    assert status(base) == status(f"{base}/?token=wrong") == status(f"{base}/report/first") == 403
    assert status(base, Host="elsewhere.example", **entered) == 403
    assert status(base, **entered) == status(f"{base}/report/first", **entered) == 200
    assert status(f"{base}/report/..%2F..%2Fsecret", **entered) == status(f"{base}/nothing", **entered) == 404
    request = urllib.request.Request(base, method="POST", headers=entered, data=b"x")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    refused.value.close()
    assert refused.value.code == 501  # there is nothing to change
    with urllib.request.urlopen(urllib.request.Request(f"{base}/runs.json", headers=entered)) as answer:
        listed = json.load(answer)
    assert {run["name"] for run in listed} == {"first", "second", "going on"}
    assert server.server_address[0] == "127.0.0.1"


def test_a_folder_or_port_that_cannot_be_used(server: LocalPage, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no folder"):
        LocalPage(tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot be used"):
        LocalPage(tmp_path, server.server_port)


WAYS_OUT = {
    "itself": "location = '{out}'",
    "the page around it": "top.location = '{out}'",
    "a new page": "open('{out}')",
    "a link": "let a = document.createElement('a'); a.href = '{out}'; document.body.append(a); a.click()",
    "a link above": "let a = document.createElement('a'); a.href = '{out}'; a.target = '_top';"
    "document.body.append(a); a.click()",
    "a form": "let f = document.createElement('form'); f.action = '{out}'; document.body.append(f); f.submit()",
    "a refresh": "let m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0;url={out}';"
    "document.head.append(m)",
    "a frame": "let f = document.createElement('iframe'); f.src = '{out}'; document.body.append(f)",
    "a picture": "new Image().src = '{out}'",
    "a question": "fetch('{out}')",
    "a note": "navigator.sendBeacon('{out}')",
    "other reports": "fetch('/runs.json').then(a => a.text()).then(t => location = '{out}?' + t)",
}


def test_a_hostile_report_leads_nowhere(server: LocalPage, browser: Browser, tmp_path: Path) -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *arguments: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as elsewhere:
        thread = threading.Thread(target=elsewhere.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        page = browser.new_page()
        page.goto(server.address)
        for way, script in WAYS_OUT.items():
            tried = script.format(out=f"http://127.0.0.1:{elsewhere.server_port}/{way.replace(' ', '-')}")
            hostile = f"<body><p>Hello</p><script>try {{ {tried} }} catch (e) {{}}</script>"
            (tmp_path / "first" / "report.html").write_text(hostile)
            here = f"http://127.0.0.1:{server.server_port}/report/first"
            page.goto(here, wait_until="networkidle")
            assert (page.url, len(page.context.pages)) == (here, 1), way
        page.close()
        elsewhere.shutdown()
    assert asked == []


def test_a_report_alone_is_not_shown(server: LocalPage, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(server.address)
    answer = page.goto(f"http://127.0.0.1:{server.server_port}/framed/first")
    assert answer is not None
    assert answer.status == 403
    page.close()
