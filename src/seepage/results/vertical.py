"""The summary of the study of vertical gradients: what a server read of people's rows from gradients of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from seepage.results.cells import Coordinate, VerticalCell, coordinates
from seepage.results.facts import ColumnFacts, Facts
from seepage.results.interval import Interval
from seepage.results.record import ATTACK, Measure
from seepage.results.row_numbers import BEYOND_GUESSING, RowNumbers, is_summarised, row_numbers
from seepage.results.rows import READ, RevealedRow, read
from seepage.results.summary import Summary
from seepage.results.trials import Trials


class CurvePoint(Facts):
    """What had been read, and how far the model was trained, after so many batches."""

    batches: int
    psnr: Annotated[Interval | None, Field(description="of the rows that were claimed by then; null if none")] = None
    psnr_tiles: Annotated[
        Interval | None, Field(description="the same as CAFE's authors measure it; null for tables")
    ] = None
    train_loss: Annotated[Interval | None, Field(description="on the rows of all people")] = None
    test_accuracy: Annotated[Interval | None, Field(description="on rows of other people; null if there are none")] = (
        None
    )


CURVE = ("psnr", "psnr_tiles", "train_loss", "test_accuracy")


def on_curve(batches: int, metric: str) -> Measure:
    """The name of a number of a curve."""
    return Measure(ATTACK, f"batches={batches}", metric)


class VerticalResult(RowNumbers):
    """One (data set, model, people, batch size, batches, attack point, attack, defence). ``metrics`` holds, beside
    those of rows, ``psnr`` (of all that was claimed together), for pictures ``psnr_tiles`` (cut to 0 and 1, the mean
    over pictures and workers' parts, as CAFE's authors measure it), and ``correlation`` (with the true rows: numbers in
    other units can be scaled back)."""

    model: str
    people: Annotated[int, Field(description="aligned rows at the workers")]
    batch_size: int
    batches: Annotated[int, Field(description="seen by the server")]
    attack_point: str
    attack: str
    defense: str = "none"
    curve: Annotated[tuple[CurvePoint, ...], Field(description="at the batches of `watch`")] = ()

    @property
    def place(self) -> dict[str, Coordinate]:
        return coordinates(self.cell)

    @property
    def leaves_rows(self) -> bool:
        """Spans say which rows they determine; slopes and the closed form may read the others."""
        determined = self.metrics.get("determined")
        return self.attacker == "spans" and (determined is None or determined.mean < 1)

    @property
    def cell(self) -> VerticalCell:
        """Its coordinates."""
        names = (name for name in VerticalCell.__dataclass_fields__ if name != "study")
        return VerticalCell(**{name: getattr(self, name) for name in names})


class Losses(Facts):
    """The training loss with what the workers send: what a defence costs."""

    dataset: str
    variant: str = ""
    model: str
    people: int
    batch_size: int
    defense: str
    learning_rate: float
    points: Annotated[
        tuple[tuple[int, float | None], ...],
        Field(description="batches trained on, and the loss then; null where it was infinite"),
    ]


class VerticalSummary(Summary):
    """What a server read of people's rows from the gradients of batches that it chose."""

    study: Literal["vertical"] = "vertical"
    cells: tuple[VerticalResult, ...]
    losses: tuple[Losses, ...] = ()
    revealed: Annotated[tuple[RevealedRow, ...], Field(description="only with `--reveal`. Private")] = ()

    def lines(self) -> tuple[list[str], list[list[str]]]:
        told = [name for name in _TOLD_APART if len({getattr(each, name) for each in self.cells}) > 1]
        told = [*told, "model", "people", "batch_size", "batches", "attack"]
        return [name.replace("_", " ") for name in told] + READ, [
            [*(str(getattr(each, name)) for name in told), *read(each)] for each in self.cells
        ]


_TOLD_APART = ("dataset", "attack_point", "defense", "variant")


def vertical_results(every: Sequence[Trials], columns: Sequence[ColumnFacts]) -> tuple[VerticalResult, ...]:
    """One entry per cell."""
    Trials.resample(every, is_summarised, BEYOND_GUESSING)
    return tuple(
        VerticalResult.model_validate(
            coordinates(trials.cell) | row_numbers(trials, columns) | {"curve": _curve(trials)}
        )
        for trials in every
    )


def _curve(trials: Trials) -> tuple[CurvePoint, ...]:
    """The points at which the trials were looked at."""
    scopes = (measure.scope.partition("=") for measure in trials.measures if measure.scope.startswith("batches="))
    places = sorted({int(number) for _, _, number in scopes})
    return tuple(
        CurvePoint(batches=place, **{name: trials.interval(on_curve(place, name)) for name in CURVE})
        for place in places
    )
