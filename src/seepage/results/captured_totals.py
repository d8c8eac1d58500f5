"""What was said of all rows behind a captured update together: which categories occur, and how many rows have each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from seepage.results.cells import Coordinate, UpdatesCell, cell_of, coordinates
from seepage.results.facts import ColumnFacts, Facts
from seepage.results.interval import Interval
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.result import Result, envelope
from seepage.results.tallies import COMPARED, PUBLIC, TALLYING, judged_totals
from seepage.results.trials import Trials

SAID_PRESENT, SAID_ABSENT, SAID_NOTHING = "said_present", "said_absent", "said_nothing"
COUNT_WIDTH = "count_width"
SO_FAR = "present_so_far"  # categories that a round or an earlier one says somebody has


class TotalsColumn(Facts):
    """One categorical column: means over the attacked rounds."""

    name: str
    categories: int
    sensitive: bool = False
    present: Annotated[float | None, Field(description="categories that the attack says somebody has")] = None
    absent: Annotated[float | None, Field(description="that it says nobody has")] = None
    untold: Annotated[float | None, Field(description="of which it cannot tell")] = None
    count_width: Annotated[
        float | None, Field(description="mean width of a count's interval, as a share of the rows")
    ] = None
    presence: Annotated[Interval | None, Field(description="share of states that are right, where that is known")] = (
        None
    )
    count_error: Annotated[Interval | None, Field(description="share of rows counted wrongly, where that is known")] = (
        None
    )


class CapturedTotals(Result):
    """An attack on totals of one client's captured updates, or of a simulation of the same shape. ``metrics`` holds,
    without the truth, ``said_present``, ``said_absent`` and ``said_nothing`` (numbers of categories); where rows are
    known, those of the tallies of ``rows``."""

    sender: str
    rounds: str
    protocol: str
    model: str
    batch_size: int
    attack: str
    origin: str = "captured"
    watched: Annotated[int, Field(description="always 1: each update by itself")] = 1
    rows: Annotated[int, Field(description="rows behind the attacked updates")] = 0
    guesses: Annotated[
        dict[str, Interval | None], Field(description="the same of a guess from public marginals, without the update")
    ] = Field(default_factory=dict)
    columns: tuple[TotalsColumn, ...] = ()

    @property
    def place(self) -> dict[str, Coordinate]:
        return coordinates(self.cell)

    @property
    def cell(self) -> UpdatesCell:
        """Its coordinates."""
        return cell_of(UpdatesCell, self)

    @property
    def captured(self) -> bool:
        """Whether these are the federation's own updates, and no simulation."""
        return self.origin == "captured"

    @property
    def said(self) -> str:
        """How many categories it says something of, for the end of a line; empty if nothing."""
        found = {name: self.metrics.get(name) for name in (SAID_PRESENT, SAID_ABSENT, SAID_NOTHING)}
        if not any(found.values()):
            return ""
        present, absent, nothing = (0.0 if each is None else each.mean for each in found.values())
        return f": {present:.3g} categories occur, {absent:.3g} do not, {nothing:.3g} cannot be told"

    @property
    def may_hide(self) -> bool:
        return False  # what every update tells, each of them shows


def is_totals(trials: Trials) -> bool:
    """Whether these are trials of an attack on totals; by its name where nothing was answered."""
    told = [Measure(ATTACK, ALL_COLUMNS, name) for name in ("presence", SAID_PRESENT)]
    attack = str(coordinates(trials.cell)["attack"]).partition(":")[0]
    return any(trials.has(each) for each in told) or (not trials.measures and attack in TALLYING)


def totals_result(trials: Trials, columns: Sequence[ColumnFacts]) -> CapturedTotals:
    """The entry of a cell."""
    told = [name for name in trials.metrics() if name != SO_FAR]  # a mean over rounds of what grows says nothing
    metrics = {name: trials.interval(Measure(ATTACK, ALL_COLUMNS, name)) for name in told}
    return CapturedTotals.model_validate(
        coordinates(trials.cell)
        | envelope(trials)
        | {
            "rows": int(trials.rows.sum()),
            "metrics": metrics,
            "guesses": {n: trials.interval(Measure(PUBLIC, ALL_COLUMNS, n)) for n in COMPARED if n in metrics},
            "judged": judged_totals(trials),
            "columns": tuple(_column(trials, each) for each in columns if each.cardinality is not None),
        }
    )


def _column(trials: Trials, column: ColumnFacts) -> TotalsColumn:
    def mean(metric: str) -> float | None:
        found = trials.interval(Measure(ATTACK, column.name, metric))
        return None if found is None else found.mean

    assert column.cardinality is not None
    return TotalsColumn(
        name=column.name,
        categories=column.cardinality,
        sensitive=column.sensitive,
        present=mean(SAID_PRESENT),
        absent=mean(SAID_ABSENT),
        untold=mean(SAID_NOTHING),
        count_width=mean(COUNT_WIDTH),
        presence=trials.interval(Measure(ATTACK, column.name, "presence")),
        count_error=trials.interval(Measure(ATTACK, column.name, "count_error")),
    )
