"""The summary of the study of rows: what a server read of clients' rows from their updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from seepage.results.cells import Coordinate, RowsCell, cell_of, coordinates
from seepage.results.defended import ADAPTIVE
from seepage.results.facts import ColumnFacts, Facts
from seepage.results.row_numbers import BEYOND_GUESSING, RowNumbers, is_summarised, row_numbers
from seepage.results.summary import Summary, show
from seepage.results.tallies import TallyResult, is_tally, tally_result
from seepage.results.trials import Trials


class RowsResult(RowNumbers):
    """One (data set, protocol, model, batch size, attack point, attack, defence)."""

    protocol: str
    model: Annotated[str, Field(description="a spec: a name, and the options that were given")]
    batch_size: int
    attack_point: str
    attack: str
    defense: str = "none"
    watched: Annotated[int, Field(description="rounds of each client that the attack joins")] = 1

    @property
    def place(self) -> dict[str, Coordinate]:
        return coordinates(self.cell)

    @property
    def cell(self) -> RowsCell:
        """Its coordinates."""
        return cell_of(RowsCell, self)

    @property
    def knowing(self) -> str:
        return "" if self.defense.partition(":")[0] == "none" else ADAPTIVE


class Exposure(Facts):
    """How often clients had gone through their rows."""

    min: float
    mean: float
    max: float


class Utility(Facts):
    """What a model was worth at an attack point; ``best`` is the checkpoint with the lowest validation loss."""

    dataset: str
    variant: str = ""
    protocol: str
    model: str
    defense: str
    batch_size: int
    attack_point: str
    repeat: int
    parameters: Annotated[int, Field(description="of the model")]
    round: Annotated[int, Field(description="what that model had seen, so the first one has 0")]
    exposure: Exposure
    validation: dict[str, float | None]
    test: Annotated[dict[str, float | None] | None, Field(description="only of `best`")] = None


class Promise(Facts):
    """What a defence promises one client for the whole run. It assumes Poisson sampling."""

    dataset: str
    variant: str = ""
    protocol: str
    model: str
    defense: str
    batch_size: int
    repeat: int
    client: int
    rounds: int
    epsilon: Annotated[float | None, Field(description="null without noise: nothing is promised")]
    delta: float
    steps: Annotated[int, Field(description="noisy gradients the client computed")]
    sampling_rate: Annotated[float, Field(description="share of its rows behind each")]


class PartVerdict(Facts):
    """A part of the attacks: whether it can work, and why."""

    what: str
    verdict: str
    why: str


class Applicability(Facts):
    """Which attacks can work on a set-up: counted, not measured, from sizes alone."""

    dataset: str = ""
    variant: str = ""
    protocol: str
    model: str
    defense: str
    batch_size: int
    rows: Annotated[int, Field(description="behind one update; of the client with the fewest")]
    steps: Annotated[int, Field(description="local steps behind one update")]
    stops: Annotated[str, Field(description="what would end exact reading")]
    findings: tuple[PartVerdict, ...]


class RevealedRow(Facts):
    """A true row beside what was read of it. Private: only with ``--reveal``."""

    cell: str
    client: int
    truth: dict[str, JsonValue]
    reconstruction: dict[str, JsonValue]


class RowsSummary(Summary):
    """What a server read of clients' rows from their updates."""

    study: Literal["rows"] = "rows"
    cells: Annotated[tuple[RowsResult, ...], Field(description="one entry per tested combination")]
    tallies: Annotated[
        tuple[TallyResult, ...], Field(description="attacks on all rows together: `presence` and `counts`")
    ] = ()
    utility: tuple[Utility, ...] = ()
    privacy: Annotated[tuple[Promise, ...], Field(description="of defences that promise something")] = ()
    applicability: Annotated[
        tuple[Applicability, ...], Field(description="empty for plans of more than 12 variants")
    ] = ()
    revealed: Annotated[tuple[RevealedRow, ...], Field(description="only with `--reveal`. Private")] = ()

    def lines(self) -> tuple[list[str], list[list[str]]]:
        varying = [name for name in _TOLD_APART if len({getattr(each, name) for each in self.cells}) > 1]
        told = [*varying, "model", "batch_size", "attack_point", "attack"]
        return [name.replace("_", " ") for name in told] + READ, [
            [*(str(getattr(each, name)) for name in told), *read(each)] for each in self.cells
        ]


_TOLD_APART = ("dataset", "protocol", "defense", "watched", "variant")
READ = ["cells read back", "rows read exactly", "rows read nearly", "best guess", "rows", "outcome"]


def read(result: RowNumbers) -> list[str]:
    """What was read, in words for a table with the headings of ``READ``."""
    return [
        show(result.metrics.get("accuracy")),
        show(result.metrics.get("exact")),
        show(result.metrics.get("emr")),
        show(result.best_guess[1]),
        f"{result.rows_exact} of {result.rows}" if result.rows else "-",
        result.ending,
    ]


def tally_results(every: Sequence[Trials], columns: Sequence[ColumnFacts]) -> tuple[TallyResult, ...]:
    """One entry per cell of an attack on totals."""
    return tuple(tally_result(trials, columns) for trials in every if is_tally(trials))


def rows_results(every: Sequence[Trials], columns: Sequence[ColumnFacts]) -> tuple[RowsResult, ...]:
    """One entry per cell of an attack on rows."""
    every = [trials for trials in every if not is_tally(trials)]
    Trials.resample(every, is_summarised, BEYOND_GUESSING)
    return tuple(RowsResult.model_validate(coordinates(trials.cell) | row_numbers(trials, columns)) for trials in every)
