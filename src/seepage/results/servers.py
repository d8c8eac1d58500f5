"""The summary of the study of cheating servers: rows read, and what a client could have noticed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seepage.results.cells import Coordinate, ServersCell, coordinates
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.result import Result, envelope
from seepage.results.summary import Summary, show
from seepage.results.trials import Trials

GUESS, CLIENT = "guess", "client"  # sources of numbers, beside the attack
# The checks of a client, by name (``defenses/received.py``).
CHECKS = ("shapes", "copies", "zeros", "sizes", "scale", "biases", "jump", "echoes", "alone")
STRONGEST = (("cuts", "module"), ("codes",))  # what a gate asks for


class ServersResult(Result):
    """One attack of a server that cheats, on one protocol, model, number of rows and of rounds. A trial is a client
    with other rows. ``metrics`` holds ``exact`` (share of the rows read to the last digit), ``emr`` (nearly), ``gain``
    (nearly, beyond a guess), ``certified`` (proven by the attack), ``certified_wrong`` (proven rows that are none, a
    count), ``guess`` (exact rows of a guess), ``noticed`` (share of clients whose checks raise an alarm) and
    ``noticed_...`` by the check."""

    protocol: str
    model: str
    batch_size: Annotated[int, Field(description="rows behind an update")]
    rounds: Annotated[int, Field(description="in which the server may cheat; attacks of one round use the first")]
    attack: str
    notices: Annotated[tuple[str, ...], Field(description="what a client could see in the weights")] = ()

    @property
    def place(self) -> dict[str, Coordinate]:
        names = (name for name in ServersCell.__dataclass_fields__ if name != "study")
        return coordinates(ServersCell(**{name: getattr(self, name) for name in names}))

    @property
    def guess(self) -> float:
        found = self.metrics.get("guess")
        return found.mean if found else 0.0

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that raised an alarm in most trials."""
        found = {name: self.metrics.get(f"noticed_{name}") for name in CHECKS}
        return tuple(name for name, value in found.items() if value is not None and value.mean >= 0.5)


class ServersSummary(Summary):
    """What a server that sends weights of its own making reads of its clients' rows, and what they could notice."""

    study: Literal["servers"] = "servers"
    cells: tuple[ServersResult, ...]

    def lines(self) -> tuple[list[str], list[list[str]]]:
        told = [name for name in ("dataset", "protocol", "model", "rounds", "variant") if self._varies(name)]
        numbers = ("exact", "emr", "certified", "guess", "noticed")
        headings = [*told, "rows", "attack", "exact", "near", "proven", "guess", "noticed"]
        return headings, [
            [
                *(str(getattr(cell, name)) for name in told),
                f"{cell.batch_size:,}",
                cell.attack,
                *(show(cell.metrics.get(name)) for name in numbers),
            ]
            for cell in self.cells
        ]

    def _varies(self, name: str) -> bool:
        return len({getattr(cell, name) for cell in self.cells}) > 1


def servers_result(trials: Trials) -> ServersResult:
    """The numbers of one attack over its clients."""
    sources = {name: (ATTACK, name) for name in ("exact", "emr", "gain", "certified", "certified_wrong")}
    sources |= {"guess": (GUESS, "exact"), "noticed": (CLIENT, "noticed")}
    sources |= {f"noticed_{name}": (CLIENT, name) for name in CHECKS}
    metrics = {
        name: trials.interval(Measure(source, ALL_COLUMNS, metric)) for name, (source, metric) in sources.items()
    }
    return ServersResult.model_validate(
        coordinates(trials.cell)
        | envelope(trials)
        | {"metrics": metrics, "judged": {name: metrics[name] for name in ("exact", "emr", "gain")}}
    )
