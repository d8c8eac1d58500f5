"""What was read of all rows of an update together: which categories there are, and how many rows have each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from seepage.results.cells import Coordinate, RowsCell, cell_of, coordinates
from seepage.results.facts import ColumnFacts, Facts
from seepage.results.interval import Interval
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.result import Result, envelope
from seepage.results.trials import Trials

PUBLIC = "public"  # the guess from published marginals
TALLYING = ("presence", "counts")  # our attacks that read no single row
COMPARED = ("presence", "lone_found", "count_error", "label_error", "mean_error")  # numbers that a guess has too
_GAINS = (("presence", "presence"), ("counts", "count_error"))


class TallyColumn(Facts):
    """One categorical column."""

    name: str
    categories: int
    sensitive: bool = False
    presence: Annotated[Interval | None, Field(description="share of its categories whose presence was read")] = None
    presence_guess: Interval | None = None
    count_error: Annotated[Interval | None, Field(description="share of the rows that are counted wrongly")] = None
    count_error_guess: Interval | None = None


class TallyResult(Result):
    """Attacks on totals. ``metrics`` holds ``presence`` (share of all categories that were rightly said to be there or
    not), ``present_found`` and ``absent_found`` (the same of those that are there, and that are not),
    ``presence_wrong`` (how many were said wrongly), ``lone_found`` (of the categories that a single row has, how many
    were seen), ``lone`` (how many there are), ``visible_from`` (rows from which on a category is seen above the noise),
    ``count_error`` (share of the rows counted wrongly, mean over columns), ``count_covered`` (share of true counts
    inside the stated interval), ``count_width`` (of the intervals, as a share of the rows), and where they were worked
    out ``label_error``, ``label_covered``, ``mean_error`` (in deviations) and ``mean_covered``."""

    protocol: str
    model: str
    batch_size: int
    attack_point: str
    attack: str
    defense: str = "none"
    watched: Annotated[int, Field(description="rounds of each client that the attack joins")] = 1
    rows: Annotated[int, Field(description="rows behind the attacked updates")] = 0
    guesses: Annotated[
        dict[str, Interval | None], Field(description="the same of a guess from public marginals, without the update")
    ] = Field(default_factory=dict)
    columns: tuple[TallyColumn, ...] = ()

    @property
    def place(self) -> dict[str, Coordinate]:
        return coordinates(self.cell)

    @property
    def cell(self) -> RowsCell:
        """Its coordinates."""
        return cell_of(RowsCell, self)

    @property
    def may_hide(self) -> bool:
        return False  # what every update tells, each of them shows


def is_tally(trials: Trials) -> bool:
    """Whether these are trials of an attack on totals; by its name where nothing was scored."""
    if trials.measures:
        return trials.has(Measure(ATTACK, ALL_COLUMNS, "presence"))
    assert isinstance(trials.cell, RowsCell)
    return trials.cell.attack.partition(":")[0] in TALLYING


def tally_result(trials: Trials, columns: Sequence[ColumnFacts]) -> TallyResult:
    """The entry of a cell."""
    metrics = {name: trials.interval(Measure(ATTACK, ALL_COLUMNS, name)) for name in trials.metrics()}
    guesses = {name: trials.interval(Measure(PUBLIC, ALL_COLUMNS, name)) for name in COMPARED if name in metrics}
    return TallyResult.model_validate(
        coordinates(trials.cell)
        | envelope(trials)
        | {
            "rows": int(trials.rows.sum()),
            "metrics": metrics,
            "guesses": guesses,
            "judged": judged_totals(trials),
            "columns": tuple(_column(trials, each) for each in columns if each.cardinality is not None),
        }
    )


def judged_totals(trials: Trials) -> dict[str, Interval | None]:
    """What was read beyond the guess: states of categories, and counts that a guess gets wrong."""
    found: dict[str, Interval | None] = {}
    for name, metric in _GAINS:
        ours, theirs = Measure(ATTACK, ALL_COLUMNS, metric), Measure(PUBLIC, ALL_COLUMNS, metric)
        if not trials.has(ours):
            continue
        # An error that is smaller than the guess's is a gain.
        (found[name],) = trials.differences([(ours, theirs) if metric == "presence" else (theirs, ours)])
    return found


def _column(trials: Trials, column: ColumnFacts) -> TallyColumn:
    def of(source: str, metric: str) -> Interval | None:
        return trials.interval(Measure(source, column.name, metric))

    assert column.cardinality is not None
    return TallyColumn(
        name=column.name,
        categories=column.cardinality,
        sensitive=column.sensitive,
        presence=of(ATTACK, "presence"),
        presence_guess=of(PUBLIC, "presence"),
        count_error=of(ATTACK, "count_error"),
        count_error_guess=of(PUBLIC, "count_error"),
    )
