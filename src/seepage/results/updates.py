"""The summary of the study of captured updates: what can be read of rows that nobody may know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from seepage.results.captured_rounds import CapturedRound
from seepage.results.captured_totals import CapturedTotals, is_totals, totals_result
from seepage.results.cells import Coordinate, UpdatesCell, cell_of, coordinates
from seepage.results.facts import ColumnFacts, Facts
from seepage.results.interval import Interval
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.row_numbers import BEYOND_GUESSING, RowNumbers, is_summarised, row_numbers
from seepage.results.rows import READ, Applicability, RevealedRow, read
from seepage.results.summary import Summary, show
from seepage.results.trials import Trials


class ColumnDoubt(Facts):
    """How sure the attacker may be of a column."""

    name: str
    kind: str
    sensitive: bool = False
    doubt: Annotated[Interval | None, Field(description="the attacker's own; null for attacks that have none")] = None
    expected: Annotated[
        Interval | None,
        Field(description="share of its cells that are right, by the simulation; certified rows count as right"),
    ] = None
    guess: Annotated[Interval | None, Field(description="what the best guess gets in the simulation")] = None

    @property
    def gain(self) -> float | None:
        """How much more than the best guess is expected; None if one of them is not known."""
        return self.expected.mean - self.guess.mean if self.expected and self.guess else None


class UpdatesResult(RowNumbers):
    """One (capture, sender, rounds, protocol, model, batch size, attack). ``metrics`` holds, without the truth,
    ``certified`` (share of rows that the attack proves), ``expected`` (share of cells that are right, by the
    simulation), ``claimed``, ``doubt_num`` and ``doubt_cat``; with it, those of rows. Cells whose ``origin`` is
    ``simulated`` are simulations of the same shape, with rows that are known."""

    sender: Annotated[str, Field(description="the client's name, hashed")]
    rounds: Annotated[str, Field(description="those that were attacked, in words")]
    protocol: str
    model: str
    batch_size: int
    attack: str
    origin: str = "captured"
    watched: Annotated[int, Field(description="rounds that the attack joins: each update with those before it")] = 1
    sureness: Annotated[tuple[ColumnDoubt, ...], Field(description="column by column; without the truth")] = ()

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
    def with_truth(self) -> bool:
        """Whether what was read could be compared with the rows."""
        return self.metrics.get("accuracy") is not None


class Framework(Facts):
    """What ran the federation, as the capture says."""

    name: str
    version: str = ""


class CapturedUpdate(Facts):
    """What a capture says of one update, and what was made of it."""

    client: str
    round: int
    sent: str
    facts: Annotated[dict[str, str | int | float | bool | None], Field(description="the rules, as they were captured")]
    norm: Annotated[float | None, Field(description="length of the update: of the gradient or the change")] = None
    weights: Annotated[int | None, Field(description="entries of the update")] = None
    first_tensor: Annotated[str, Field(description="the name of the model's first tensor")] = ""
    why_not: Annotated[str, Field(description="why no attack can replay it; empty if one can")] = ""
    warnings: tuple[str, ...] = ()


class UpdatesSummary(Summary):
    """What can be read from updates that a real federation sent."""

    study: Literal["updates"] = "updates"
    cells: tuple[UpdatesResult, ...]
    updates: tuple[CapturedUpdate, ...] = ()
    tallies: Annotated[
        tuple[CapturedTotals, ...], Field(description="attacks on all rows together: `presence` and `counts`")
    ] = ()
    rounds: Annotated[
        tuple[CapturedRound, ...], Field(description="each attack on each captured update, in the order of the rounds")
    ] = ()
    framework: Annotated[Framework | None, Field(description="what ran the federation; null if nobody said")] = None
    applicability: tuple[Applicability, ...] = ()
    revealed: Annotated[tuple[RevealedRow, ...], Field(description="only with `--reveal`. Private")] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*dict.fromkeys(each for update in self.updates for each in update.warnings), *self.mixed)

    def lines(self) -> tuple[list[str], list[list[str]]]:
        every = (*self.cells, *self.tallies)
        told = [name for name in _TOLD_APART if len({getattr(each, name) for each in every}) > 1]
        told = [*told, "origin", "batch_size", "attack"]
        return [name.replace("_", " ") for name in told] + ["certified", "expected right", *READ], [
            [
                *(str(getattr(each, name)) for name in told),
                "-" if each.rows_certified is None else f"{each.rows_certified} of {each.rows}",
                show(each.metrics.get("expected")),
                *(read(each) if each.with_truth else ["-"] * (len(READ) - 1) + [each.ending]),
            ]
            for each in self.cells
        ] + [
            [*(str(getattr(each, name)) for name in told), *["-"] * (len(READ) + 1), f"{each.ending}{each.said}"]
            for each in self.tallies
        ]


_TOLD_APART = ("dataset", "sender", "rounds", "protocol", "watched", "variant")


def updates_results(every: Sequence[Trials], columns: Sequence[ColumnFacts]) -> tuple[UpdatesResult, ...]:
    """One entry per cell of an attack on rows; those without the truth get what guessing gets from their simulation."""
    every = [trials for trials in every if not is_totals(trials)]
    Trials.resample(every, is_summarised, BEYOND_GUESSING)
    results = [
        UpdatesResult.model_validate(coordinates(trials.cell) | row_numbers(trials, columns) | _untold(trials))
        for trials in every
    ]
    simulated = {_key(each): each for each in results if not each.captured}
    return tuple(
        each.model_copy(update={"sureness": _sureness(trials, columns, simulated.get(_key(each)))})
        if each.captured and not each.with_truth
        else each
        for trials, each in zip(every, results, strict=True)
    )


def totals_results(every: Sequence[Trials], columns: Sequence[ColumnFacts]) -> tuple[CapturedTotals, ...]:
    """One entry per cell of an attack on totals."""
    return tuple(totals_result(trials, columns) for trials in every if is_totals(trials))


def _key(result: UpdatesResult) -> tuple[Coordinate, ...]:
    return tuple(value for name, value in result.place.items() if name != "origin")


def _untold(trials: Trials) -> dict[str, object]:
    """What a gate may look at where nobody knows the rows: at least what is proven, at most everything."""
    if trials.has(Measure(ATTACK, ALL_COLUMNS, "accuracy")) or not trials.scored.any():
        return {}
    proven = trials.interval(Measure(ATTACK, ALL_COLUMNS, "certified"))
    least = proven.mean if proven else 0.0
    unknown = Interval(mean=least, low=least, high=1.0)
    return {"judged": {"exact": unknown, "emr": unknown, "gain": unknown}}


def _sureness(
    trials: Trials, columns: Sequence[ColumnFacts], simulated: UpdatesResult | None
) -> tuple[ColumnDoubt, ...]:
    guesses = {each.name: each.best_guess for each in simulated.columns} if simulated else {}
    return tuple(
        ColumnDoubt(
            name=column.name,
            kind=column.kind,
            sensitive=column.sensitive,
            doubt=trials.interval(Measure(ATTACK, column.name, "doubt")),
            expected=trials.interval(Measure(ATTACK, column.name, "expected")),
            guess=guesses.get(column.name),
        )
        for column in columns
    )
