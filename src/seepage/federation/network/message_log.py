"""What left this house, and what came in: a log that nobody can change afterwards without being seen.

A line for each frame says when, to or from whom, which step, how many bytes of which kind, and the SHA-256 of its
bytes. No value is in it; every frame has a nonce, so guesses of short messages cannot be tested with a digest either.
Each line holds a hash of itself and the line before (a chain), and the chain is signed by the party's key after every
epoch. A process that starts begins a new file, which names the end of the file before.

What it shows: the party that keeps the log vouches for it with its signature, line by line and in order. What it does
not: that a party logged everything it sent. The other side's log says the same of the same frames; compare both.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from seepage._core import InputError
from seepage._core.files import disk, make_folders
from seepage.federation.network.certificates import Identity, signed

Way = Literal["sent", "received"]
MOST_LINE = 2**16
NOTHING = "0" * 64


class MessageLog:
    """Adds lines to a new file of a folder.

    Args:
        folder: of all log files of this party.
        party: whose log it is.
        identity: signs; None on a channel without certificates, and then nothing is signed.
    """

    def __init__(self, folder: Path, party: str, identity: Identity | None) -> None:
        make_folders(folder)
        files = log_files(folder)
        self._chain = _end_of(files[-1]) if files else NOTHING
        self.path = folder / f"messages-{len(files) + 1:04}.jsonl"
        self._identity, self._lock = identity, threading.Lock()
        self._handle, self._open = disk.open_end(self.path), True
        self._line({"begun": _now(), "party": party, "after": self._chain})

    def note(self, way: Way, other: str, step: str, sizes: dict[str, int], content: bytes) -> None:
        """One frame that was sent or came in."""
        digest = hashlib.sha256(content).hexdigest()
        line = {"time": _now(), "way": way, "party": other, "step": step, "kinds": sizes}
        with self._lock:
            self._line(line | {"bytes": len(content), "sha256": digest})

    def sign(self) -> None:
        """Vouch for all lines so far; they are on the disk afterwards."""
        with self._lock:
            if self._identity is not None:
                signature = base64.b64encode(signed(self._identity, self._chain.encode())).decode()
                self._line({"time": _now(), "signed": self._chain, "signature": signature})
            disk.sync(self.path)

    def _line(self, facts: dict[str, Any]) -> None:
        text = json.dumps(facts, separators=(",", ":"))
        self._chain = _linked(self._chain, text)
        disk.add(self._handle, f'{text[:-1]},"chain":"{self._chain}"}}\n'.encode())

    def close(self) -> None:
        """Vouch for all lines, and add none any more."""
        if self._open:
            self.sign()
            with self._lock:
                os.close(self._handle)
                self._open = False


@dataclass
class Logged:
    """What a checked log says.

    Args:
        party: whose it is.
        lines: in all files.
        signed: lines up to the last signature.
        bytes: by way, party and kind.
        torn: files whose last line was cut off by a kill; what came before counts.
    """

    party: str
    lines: int = 0
    signed: int = 0
    bytes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    torn: list[str] = field(default_factory=list)


def check_log(folder: Path, certificate: bytes | None) -> Logged:
    """Follow the chain through all files of a log, and check its signatures.

    Args:
        certificate: of the party, in PEM; None checks the chain only.
    """
    files = log_files(folder)
    if not files:
        raise InputError(f"{folder} holds no log of messages (messages-0001.jsonl).")
    key = x509.load_pem_x509_certificate(certificate).public_key() if certificate is not None else None
    if key is not None and not isinstance(key, ec.EllipticCurvePublicKey):
        raise InputError("Logs are signed with keys on elliptic curves (EC); the certificate has another kind of key.")
    found, chain = Logged(party=""), NOTHING
    for number, path in enumerate(files, start=1):
        if path.name != f"messages-{number:04}.jsonl":
            raise InputError(f"{folder} lacks messages-{number:04}.jsonl: a file of the log is gone.")
        chain = _follow(path, chain, key, found)
    return found


def log_files(folder: Path) -> list[Path]:
    """The files of a log, the oldest first."""
    return sorted(folder.glob("messages-[0-9][0-9][0-9][0-9].jsonl"))


def _follow(path: Path, chain: str, key: ec.EllipticCurvePublicKey | None, found: Logged) -> str:
    for place, (text, facts, whole) in enumerate(_lines(path), start=1):
        if not whole:
            found.torn.append(path.name)
            break
        if place == 1 and facts.get("after") != chain:
            raise InputError(f"{path} does not go on where the file before it ends: lines are gone, or were added.")
        chain = _linked(chain, text)
        if facts.get("chain") != chain:
            raise InputError(f"Line {place} of {path} was changed, or a line before it is gone.")
        found.lines += 1
        found.party = str(facts.get("party", found.party)) if place == 1 else found.party
        if "signature" in facts:
            _check_signature(path, place, facts, key)
            found.signed = found.lines
        for kind, size in (facts.get("kinds") or {}).items():
            found.bytes[facts["way"], facts["party"], kind] += int(size)
    return chain


def _check_signature(path: Path, place: int, facts: dict[str, Any], key: ec.EllipticCurvePublicKey | None) -> None:
    if key is None:
        return
    try:
        key.verify(base64.b64decode(facts["signature"]), facts["signed"].encode(), ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        raise InputError(f"The signature in line {place} of {path} is not of this certificate's key.") from None


def _lines(path: Path) -> list[tuple[str, dict[str, Any], bool]]:
    """Every line without its chain, what it says, and whether it is whole."""
    found: list[tuple[str, dict[str, Any], bool]] = []
    every = path.read_bytes().splitlines(keepends=True)
    for place, raw in enumerate(every, start=1):
        text, mark, _ = raw.decode("utf-8", "replace").rpartition(',"chain":"')
        try:
            facts = json.loads(raw) if raw.endswith(b"\n") and mark and len(raw) <= MOST_LINE else None
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict):
            if place < len(every):  # a kill cuts the last line only
                raise InputError(f"Line {place} of {path} was changed, or a line before it is gone.")
            found.append(("", {}, False))
            break
        found.append((text + "}", facts, True))
    return found


def _end_of(path: Path) -> str:
    """The chain at the last whole line of a file."""
    whole = [facts for _, facts, good in _lines(path) if good]
    return str(whole[-1].get("chain", NOTHING)) if whole else NOTHING


def _linked(chain: str, text: str) -> str:
    return hashlib.sha256(f"{chain}\n{text}".encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
