"""The summary of the study of cohorts: what sums give away, and the smallest cohort that hides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from seepage._core import InputError
from seepage.results.cells import CohortsCell, Coordinate, cell_of, coordinates
from seepage.results.facts import Facts
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.result import Result, envelope
from seepage.results.summary import Summary, show
from seepage.results.trials import Trials

CHANCE = "chance"  # the source of what is right without the sums
HIDDEN = 0.01  # share of rows: a cohort of which no more is read is said to hide from this attack
# What a gate asks for, by what is read.
STRONGEST = {
    "rows": (("rows_of_sum",),),
    "client": (("difference",),),
    "owners": (("groups",),),
    "entries": (("lone_entries",),),
    "categories": (("categories_of_sum",),),
}
NUMBERS = ("read", "gain", "certified", "certified_wrong", "wrong")


class CohortsResult(Result):
    """One attack on the sums over cohorts of one size, over so many rounds. A trial is a federation with another split
    and other weights. ``metrics`` holds ``read`` (by ``reads``: the share of the watched clients' rows that are read
    exactly; of the rows of the client that was absent once; of the watched clients' rows that are proven and given to
    the right client; of the categories that only one watched client has, and that are given to it; of all categories,
    whether somebody has them), ``guess`` (the same by chance), ``gain`` (the difference), ``certified`` (share of the
    rows that are proven), ``certified_wrong`` (proven rows that are nobody's) and ``wrong`` (owners that are wrong)."""

    protocol: str
    model: Annotated[str, Field(description="a spec: a name, and the options that were given")]
    clients: int
    rows_each: int
    cohort_size: int
    rounds: int
    reads: Annotated[str, Field(description="`rows`, `client`, `owners`, `entries` or `categories`")]
    attack: str

    @property
    def place(self) -> dict[str, Coordinate]:
        return coordinates(cell_of(CohortsCell, self))

    @property
    def guess(self) -> float:
        found = self.metrics.get("guess")
        return found.mean if found else 0.0


class Counted(Facts):
    """What counting predicts for a model on a table, before any attack: see ``attacks/cohorts/limit.py``."""

    dataset: str
    variant: str = ""
    model: str
    protocol: str
    rows_each: int
    rows: Annotated[
        int | None, Field(description="behind one sum, from which on algebra reads none; null if it reads none anyway")
    ]
    cohort: Annotated[int | None, Field(description="the smallest cohort with so many rows, predicted")]
    why: str


class Hiding(Facts):
    """The smallest cohort that hides its rows from the attack on one sum, predicted and measured."""

    dataset: str
    variant: str = ""
    model: str
    rows_each: int
    predicted: Annotated[int | None, Field(description="by counting; null if no row can be read by algebra")]
    leaking: Annotated[int | None, Field(description="the largest tested cohort of which rows are read")]
    measured: Annotated[
        int | None, Field(description="the smallest tested cohort from which on at most 1 % is read; null if none does")
    ]


class CohortsSummary(Summary):
    """What a server behind secure aggregation reads in the sums over its cohorts."""

    study: Literal["cohorts"] = "cohorts"
    cells: tuple[CohortsResult, ...]
    counted: tuple[Counted, ...] = ()

    @property
    def hiding(self) -> tuple[Hiding, ...]:
        """For each model, the smallest cohort that hides from the attack on one sum."""
        return tuple(_hiding(counted, self.cells) for counted in self.counted)

    def lines(self) -> tuple[list[str], list[list[str]]]:
        told = [name for name in ("dataset", "model", "variant") if len({getattr(c, name) for c in self.cells}) > 1]
        headings = [*told, "cohort", "rounds", "attack", "of", "read", "chance", "proven"]
        return headings, [
            [
                *(str(getattr(cell, name)) for name in told),
                str(cell.cohort_size),
                str(cell.rounds),
                cell.attack,
                cell.reads,
                *(show(cell.metrics.get(name)) for name in ("read", "guess", "certified")),
            ]
            for cell in self.cells
        ]


def check_cohort(cohort: int, clients: int | None = None) -> None:
    """A sum over one client hides nothing, and nobody can be drawn who is not there."""
    if cohort < 1:
        raise InputError(f"A cohort has {cohort} clients; at least 2 are needed.")
    if cohort == 1:
        raise InputError(
            "A cohort of 1 is one client: the sum over it is that client's update, and hides nothing. `seepage audit` "
            "measures what an update gives away; a cohort has at least 2 clients."
        )
    if clients is not None and cohort > clients:
        raise InputError(
            f"A cohort of {cohort} cannot be drawn from {clients} clients; use more clients (--clients) or smaller "
            "cohorts."
        )


def _hiding(counted: Counted, cells: Sequence[CohortsResult]) -> Hiding:
    """What was measured beside what was counted, in one watched round."""
    same = ("dataset", "variant", "model", "rows_each")
    read = {
        cell.cohort_size: value.mean
        for cell in cells
        if cell.rounds == 1
        and cell.attack.partition(":")[0] == "rows_of_sum"
        and all(getattr(cell, name) == getattr(counted, name) for name in same)
        and (value := cell.metrics.get("read")) is not None
    }
    leaking = max((size for size, share in read.items() if share > HIDDEN), default=None)
    beyond = [size for size in read if size > (leaking or 0)]
    return Hiding(
        **{name: getattr(counted, name) for name in same},
        predicted=counted.cohort,
        leaking=leaking,
        measured=min(beyond, default=None),
    )


def cohorts_result(trials: Trials) -> CohortsResult:
    """The numbers of one attack over its trials."""
    metrics = {name: trials.interval(Measure(ATTACK, ALL_COLUMNS, name)) for name in NUMBERS}
    metrics["guess"] = trials.interval(Measure(CHANCE, ALL_COLUMNS, "read"))
    cell = trials.cell
    assert isinstance(cell, CohortsCell)
    judged = {"gain": metrics["gain"]}
    if cell.reads in ("rows", "client"):
        judged["exact"] = metrics["read"]
    return CohortsResult.model_validate(coordinates(cell) | envelope(trials) | {"metrics": metrics, "judged": judged})
