"""Questions on their way to the local page: who sends half of one must not hold the page up."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

SLOW = 10.0  # seconds for a question to arrive, and for an answer to be taken
WAITING = 32  # questions that may be arriving at a time; the oldest goes first


class Arriving:
    """Questions that are not read yet: only so many, and each only for so long."""

    def __init__(self) -> None:
        self._since: dict[socket.socket, float] = {}
        self._lock = threading.Lock()

    def add(self, request: socket.socket) -> None:
        """A new one; the oldest makes room for it."""
        with self._lock:
            if len(self._since) >= WAITING:
                self._end(next(iter(self._since)))
            self._since[request] = time.monotonic()

    def remove(self, request: socket.socket) -> None:
        """One that was read, or is gone."""
        with self._lock:
            self._since.pop(request, None)

    def let_go(self) -> None:
        """End those that had their time."""
        with self._lock:
            for request in [each for each, began in self._since.items() if time.monotonic() - began > SLOW]:
                self._end(request)

    def _end(self, request: socket.socket) -> None:
        self._since.pop(request, None)
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and ends
