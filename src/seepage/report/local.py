"""The local page: runs and captures of a folder, live, on this machine only and read-only.

It listens on 127.0.0.1, answers only who brings the token, only for its own name (a page elsewhere cannot reach it by
pointing a name at 127.0.0.1), and only to GET. A run folder may come from somebody else. So a report is shown as it was
written, but in a frame of ours and in a sandbox: it can neither read other reports, nor send anything out, nor lead the
reader to another page. What is no plain file is not opened. Who asks too slowly is let go.
"""

from __future__ import annotations

import errno
import hmac
import http
import json
import os
import secrets
import socket
import stat
import sys
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from markupsafe import Markup

from seepage._core import InputError
from seepage.report.arriving import SLOW, Arriving
from seepage.report.capture_page import capture_page
from seepage.report.capture_state import capture_states, captures_below
from seepage.report.comparison import ComparedRuns, compared
from seepage.report.page import render
from seepage.report.run_state import reasons, run_state, run_states
from seepage.report.templates import read, templates
from seepage.results import Run, read_summary
from seepage.results.reading import odd_entry, runs_below

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-src 'self'; frame-ancestors 'none'"
)
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
LAST_PORT = 65535


class LocalPage(ThreadingHTTPServer):
    """The server. ``address`` is what to open, token included."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path, port: int = 0) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder} with runs.")
        if not 0 <= port <= LAST_PORT:
            raise InputError(f"There is no port {port}: ports are 1 to {LAST_PORT}, or 0 for a free one.")
        self.folder, self.token = folder, secrets.token_urlsafe(24)
        self._arriving = Arriving()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise InputError(f"Port {port} on 127.0.0.1 cannot be used: {error.strerror}.") from None

    def process_request(self, request: socket.socket, client_address: Any) -> None:  # type: ignore[override]
        """Give a question its time, and a thread."""
        self._arriving.add(request)
        super().process_request(request, client_address)

    def has_arrived(self, request: socket.socket) -> None:
        """A question was read: from now on it takes as long as it takes."""
        self._arriving.remove(request)

    def shutdown_request(self, request: Any) -> None:
        """Whoever asked goes, in time or not."""
        self._arriving.remove(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Let those go who ask too slowly; called again and again while the page is served."""
        self._arriving.let_go()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who went away in the middle is no error of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def cookie(self) -> str:
        """Its name: browsers share cookies between the ports of a machine."""
        return f"seepage-{self.server_port}"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"


def _is_written(path: Path) -> bool:
    """Whether the report of a finished run is there: one of an unfinished run is made when it is asked for."""
    return (path / "summary.json").exists() and (path / "report.html").exists()


def plain_bytes(path: Path) -> bytes:
    """The content of a plain file; a link, a pipe or a device is refused (``OSError``) before anything is read."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        return stream.read()


class _Handler(BaseHTTPRequestHandler):
    server: LocalPage
    server_version, sys_version = "Seepage", ""
    timeout = SLOW

    def parse_request(self) -> bool:
        """Read a whole question."""
        whole = super().parse_request()
        self.server.has_arrived(self.connection)
        return whole

    def do_GET(self) -> None:
        """Every page there is."""
        try:
            url = urlsplit(self.path)
        except ValueError:
            return self._say(http.HTTPStatus.BAD_REQUEST, "This address cannot be read.")
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}:
            return self._say(http.HTTPStatus.FORBIDDEN, "This page is for this machine only.")
        if "token" in asked and self._is_token(asked["token"]):
            return self._enter()
        if not any(self._is_token(value) for value in self._cookies()):
            return self._say(
                http.HTTPStatus.FORBIDDEN, "Open the address that `seepage serve` printed: it holds the token."
            )
        return self._answer(url.path, asked)

    def _answer(self, path: str, asked: dict[str, str]) -> None:
        room, _, name = path.removeprefix("/").partition("/")
        if path == "/":
            folder = self.server.folder
            return self._page("local.html", runs=run_states(folder), captures=capture_states(folder))
        if path == "/runs.json":
            states = [asdict(state) | {"progress": state.progress} for state in run_states(self.server.folder)]
            return self._send(json.dumps(states).encode(), "application/json")
        if path == "/local.js":
            return self._send(read("local.js").encode(), "text/javascript; charset=utf-8")
        if path == "/compare":
            return self._compare(asked.get("first", ""), asked.get("second", ""))
        if room == "capture":
            return self._capture(unquote(name))
        if room == "run":
            return self._run_page(unquote(name))
        if room == "report":
            return self._framed(unquote(name))
        if room == "framed":
            return self._report(unquote(name))
        return self._say(http.HTTPStatus.NOT_FOUND, "There is no such page.")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.server.token.encode())

    def _cookies(self) -> list[str]:
        """Our cookies. Other programs on 127.0.0.1 set theirs too, in forms that a parser of cookies stops at."""
        pairs = [part.strip().partition("=") for part in self.headers.get("Cookie", "").split(";")]
        return [value for name, _, value in pairs if name == self.server.cookie]

    def _enter(self) -> None:
        """The token becomes a cookie, so that it does not stay in the address."""
        self.send_response(http.HTTPStatus.SEE_OTHER)
        self.send_header("Set-Cookie", f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/")
        self.send_header("Location", "/")
        self.end_headers()

    def _run(self, name: str) -> Run | None:
        """A run of the folder by its name; a name that leads elsewhere is none of them."""
        known = {path.name: path for path in runs_below(self.server.folder)}
        return Run(known[name]) if name in known and not odd_entry(known[name]) else None

    def _capture(self, name: str) -> None:
        """The page of a capture; a name that leads elsewhere is none of them."""
        known = {path.name: path for path in captures_below(self.server.folder)}
        if name not in known:
            return self._say(http.HTTPStatus.NOT_FOUND, "There is no such capture.")
        return self._page("capture.html", view=capture_page(known[name], self.server.folder))

    def _run_page(self, name: str) -> None:
        known = {path.name: path for path in runs_below(self.server.folder)}
        if name not in known:
            return self._say(http.HTTPStatus.NOT_FOUND, "There is no such run.")
        run = self._run(name)
        if run is None:  # its state says why
            return self._page("run.html", run=run_state(known[name]), reasons=[], broken=0)
        return self._page("run.html", run=run_state(run.path), reasons=reasons(run.path), broken=len(run.errors()))

    def _framed(self, name: str) -> None:
        """A page of ours around a report: its policy keeps the report from leading anywhere else."""
        if self._run(name) is None:
            return self._say(http.HTTPStatus.NOT_FOUND, "There is no such report.")
        return self._page("framed.html", name=name)

    def _report(self, name: str) -> None:
        run = self._run(name)
        if run is None:
            return self._say(http.HTTPStatus.NOT_FOUND, "There is no such report.")
        if self.headers.get("Sec-Fetch-Dest") != "iframe":  # a report alone could lead its reader away
            return self._say(http.HTTPStatus.FORBIDDEN, f"Open it in its frame: /report/{quote(name)}")
        try:
            written = _is_written(run.path)
            page = plain_bytes(run.path / "report.html") if written else render(read_summary(run)).encode()
        except OSError as error:  # it has become something else since it was looked at
            return self._say(http.HTTPStatus.NOT_FOUND, f"The report cannot be read: {error.strerror}.")
        except InputError as error:  # nothing of it can be read yet
            return self._say(http.HTTPStatus.NOT_FOUND, f"There is no such report. {error}")
        # The report brings a policy of its own too, and the stricter one holds.
        return self._send(page, "text/html; charset=utf-8", policy=_REPORT_POLICY)

    def _compare(self, first: str, second: str) -> None:
        names = [state.name for state in run_states(self.server.folder) if state.readable]
        both, problem, unfinished = None, "", list[str]()
        if first or second:
            try:
                both, unfinished = self._compared(first, second)
            except InputError as error:
                problem = str(error)
        asked = {"first": first, "second": second, "problem": problem}
        return self._page("compare.html", names=names, compared=both, unfinished=unfinished, **asked)

    def _compared(self, first: str, second: str) -> tuple[ComparedRuns, list[str]]:
        """Both runs, and what is to be said of one that is not finished."""
        one, two = self._run(first), self._run(second)
        if one is None or two is None:
            raise InputError("Choose two runs of the list.")
        both = [read_summary(one), read_summary(two)]
        left = [f"{each.name}: {each.unfinished.sentence}" for each in both if each.unfinished]
        return compared(*both), left

    def _page(self, template: str, **values: object) -> None:
        where = {"folder": str(self.server.folder), "here": urlsplit(self.path).path}
        text = templates().get_template(template).render(style=Markup(read("report.css")), **where, **values)
        self._send(text.encode(), "text/html; charset=utf-8")

    def _say(self, status: http.HTTPStatus, sentence: str) -> None:
        self._send(sentence.encode(), "text/plain; charset=utf-8", status=status)

    def _send(
        self, content: bytes, kind: str, *, status: http.HTTPStatus = http.HTTPStatus.OK, policy: str = _POLICY
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Frame-Options", "SAMEORIGIN")
        self.send_header("X-DNS-Prefetch-Control", "off")
        self.send_header("Content-Security-Policy", policy)
        with suppress(ConnectionError, TimeoutError):  # who asked went away
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is logged: addresses hold the token."""
