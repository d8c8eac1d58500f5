"""Attacks of a server that cheats, by name."""

from __future__ import annotations

from functools import partial

from seepage.attacks import malicious
from seepage.plans.part import Part

_part = partial(Part, works_on=("servers",))
_SENT = "weights of its own making; what clients send back; public rows or ranges"

SERVER_ATTACKS = (
    _part(
        name="bins",
        make=malicious.Bins,
        about="The first layer cuts the rows into bins along one direction; a row alone in a bin is read. A default.",
        needs=_SENT,
        paper="after Fowl et al., Robbing the Fed, ICLR 2022, and Boenisch et al., When the Curious Abandon Honesty, "
        "EuroS&P 2023",
    ),
    _part(
        name="codes",
        make=malicious.Codes,
        about="Bins along several directions, of which rows that were read are peeled off. A default.",
        needs=_SENT,
        paper="Seepage, with the peeling of Luby, LT Codes, FOCS 2002",
        main="chains",
    ),
    _part(
        name="cuts",
        make=malicious.Cuts,
        about="The same over several rounds on the same rows, each with its own directions. A default.",
        needs=_SENT,
        paper="Seepage",
    ),
    _part(
        name="disguised",
        make=malicious.Disguised,
        about="A few cuts hidden among neurons as training makes them: it reads less, and less can be noticed.",
        needs=f"{_SENT}; the client's checks",
        paper="Seepage",
        main="share",
    ),
    _part(
        name="module",
        make=malicious.Module,
        about="The server sends an architecture of its own, with as many bins as it likes. A default.",
        needs=f"{_SENT}; clients that run any architecture",
        paper="after Fowl et al., Robbing the Fed, ICLR 2022",
        main="bins",
    ),
)
