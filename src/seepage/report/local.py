"""The local page: runs of a folder, live, on this machine only and read-only.

It listens on 127.0.0.1, answers only who brings the token, only for its own name (a page elsewhere cannot reach it by
pointing a name at 127.0.0.1), and only to GET. Reports are shown as they were written, each in a sandbox: a run folder
may come from somebody else, and a page in it must neither read other reports nor send anything out.
"""

from __future__ import annotations

import hmac
import http
import json
import secrets
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from jinja2 import Environment, FileSystemLoader

from seepage._core import InputError
from seepage.results import Run
from seepage.results.compare import compare

_HERE = Path(__file__).parent
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'"
)
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'"
)
LAST_PORT = 65535


def runs_in(folder: Path) -> list[dict[str, Any]]:
    """What is known of each run folder below a folder, the newest first."""
    found = [_facts(path.parent) for path in folder.glob("*/run.json")]
    return sorted(found, key=lambda facts: facts["changed"], reverse=True)


def _facts(path: Path) -> dict[str, Any]:
    """How far a run is. A file that is being written is not there yet, and that is fine."""
    head = _head(path)
    settings = head.get("settings")
    finished = (path / "summary.json").exists()
    done = sum(1 for _ in (path / "tasks").glob("*.json"))
    files = [*(path / "records").glob("*.parquet"), *path.glob("*.json")]
    return {
        "name": path.name,
        "dataset": str(head.get("dataset") or (settings.get("data") if isinstance(settings, dict) else "") or ""),
        "kind": str(head.get("kind") or "audit"),
        "finished": finished,
        "tasks": tasks if isinstance(tasks := head.get("tasks"), int) else None,
        "done": done,
        "cells": sum(1 for _ in (path / "records").glob("*.parquet")),
        "report": (path / "report.html").exists(),
        "changed": max((file.stat().st_mtime for file in files if file.exists()), default=0.0),
    }


def _head(path: Path) -> dict[str, Any]:
    """What run.json says; nothing if it is no run's, whoever wrote it."""
    try:
        head = Run(path).head()
    except (InputError, OSError, UnicodeDecodeError):
        return {}
    return head if isinstance(head, dict) else {}


class LocalPage(ThreadingHTTPServer):
    """The server. ``address`` is what to open, token included."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder} with runs.")
        if not 0 <= port <= LAST_PORT:
            raise InputError(f"There is no port {port}: ports are 1 to {LAST_PORT}, or 0 for a free one.")
        self.folder, self.token = folder, secrets.token_urlsafe(24)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise InputError(f"Port {port} on 127.0.0.1 cannot be used: {error.strerror}.") from None

    @property
    def cookie(self) -> str:
        """Its name: browsers share cookies between the ports of a machine."""
        return f"seepage-{self.server_port}"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: LocalPage
    server_version, sys_version = "Seepage", ""

    def do_GET(self) -> None:
        """Every page there is."""
        try:
            url = urlsplit(self.path)
        except ValueError:
            return self._say(http.HTTPStatus.BAD_REQUEST, "This is no address.")
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}:
            return self._say(http.HTTPStatus.FORBIDDEN, "This page is for this machine only.")
        if "token" in asked and self._is_token(asked["token"]):
            return self._enter()
        if not any(self._is_token(value) for value in self._cookies()):
            return self._say(
                http.HTTPStatus.FORBIDDEN, "Open the address that `seepage serve` printed: it holds the token."
            )
        if url.path == "/":
            return self._page("local.html", runs=runs_in(self.server.folder))
        if url.path == "/runs.json":
            return self._send(json.dumps(runs_in(self.server.folder)).encode(), "application/json")
        if url.path == "/local.js":
            return self._send((_HERE / "local.js").read_bytes(), "text/javascript; charset=utf-8")
        if url.path == "/compare":
            return self._compare(asked.get("first", ""), asked.get("second", ""))
        if url.path.startswith("/report/"):
            return self._report(url.path.removeprefix("/report/"))
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
        """A run of the folder by its name; names that lead elsewhere are none."""
        known = {path.parent.name: path.parent for path in self.server.folder.glob("*/run.json")}
        return Run(known[name]) if name in known else None

    def _report(self, name: str) -> None:
        run = self._run(unquote(name))
        if run is None or not (run.path / "report.html").exists():
            return self._say(http.HTTPStatus.NOT_FOUND, "There is no such report.")
        # The report brings a policy of its own too, and the stricter one holds.
        return self._send((run.path / "report.html").read_bytes(), "text/html; charset=utf-8", policy=_REPORT_POLICY)

    def _compare(self, first: str, second: str) -> None:
        one, two = self._run(first), self._run(second)
        names = [
            facts["name"] for facts in runs_in(self.server.folder) if facts["finished"] and facts["kind"] == "audit"
        ]
        found, wrong = None, ""
        if first or second:
            try:
                if one is None or two is None:
                    raise InputError("Choose two runs of the list.")
                found = asdict(compare(one.summary().cells, two.summary().cells))
            except InputError as error:
                wrong = str(error)
            except UnicodeDecodeError:
                wrong = "The summary of one of these runs is no text."
        return self._page("compare.html", names=names, first=first, second=second, found=found, wrong=wrong)

    def _page(self, template: str, **values: Any) -> None:
        environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters["path"] = lambda text: quote(str(text), safe="")
        style = (_HERE / "report.css").read_text(encoding="utf-8")
        values |= {"style": style, "folder": str(self.server.folder), "here": urlsplit(self.path).path}
        text = environment.get_template(template).render(**values)
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
        self.send_header("Content-Security-Policy", policy)
        with suppress(ConnectionError):  # who asked went away
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is logged: addresses hold the token."""
