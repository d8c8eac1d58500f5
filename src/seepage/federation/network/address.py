"""Addresses of parties, and where a channel without certificates is allowed."""

from __future__ import annotations

import ipaddress
import re

from seepage._core import InputError

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})")


def checked_address(address: str) -> str:
    """An address with a port, or one sentence why it is none.

    Example:
        >>> checked_address("127.0.0.1:7443")
        '127.0.0.1:7443'
    """
    found = _ADDRESS.fullmatch(address)
    if not found or int(found[2]) > 65535:
        raise InputError(f"{address!r} is not an address; write it as HOST:PORT, for instance 127.0.0.1:7443.")
    return address


def is_loopback(address: str) -> bool:
    """Whether an address is of this machine only."""
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_plain(address: str) -> None:
    """Without certificates nobody knows who is at the other end: only within one machine."""
    if not is_loopback(address):
        raise InputError(
            f"A channel without certificates is for this machine only (127.0.0.1), not for {address}; add [tls]."
        )
