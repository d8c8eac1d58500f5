"""The summary of the study of properties: how finely a share of rows is told from models."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from seepage.results.cells import Coordinate, PropertyCell, coordinates
from seepage.results.facts import Facts
from seepage.results.interval import Interval, bootstrap
from seepage.results.property_score import calibration_error, property_score, share_score
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.result import Result, envelope
from seepage.results.summary import Summary, show
from seepage.results.trials import Trials

GATE = 0.9  # the least accuracy of a model in the property-inference thesis, section 3.3


class ShareNumbers(Facts):
    """Shares told as numbers, with intervals."""

    error: Annotated[Interval, Field(description="mean distance to the truth")]
    coverage: Annotated[Interval, Field(description="share of targets whose truth lies in the interval")]
    width: Annotated[float, Field(description="mean width of the intervals")]
    guessing_error: Annotated[float, Field(description="of the best constant")]


class PropertyResult(Result):
    """One meta-model: what it named of the target models. A trial is a target model. ``metrics`` holds ``accuracy``
    (ranges named rightly) and ``mse`` (squared distance in ranges), and with ``shadow_`` before them the same on the
    shadow models that the meta-model was made with."""

    property_text: str
    observed: str
    classes: int
    loss: str
    reader: str
    hierarchy: str = ""
    defense: str = "none"
    confusion: Annotated[tuple[tuple[int, ...], ...], Field(description="targets by true range (row) and named range")]
    chance: float
    most_frequent: Annotated[float, Field(description="share of targets in the range that most of them have")]
    guessing_mse: Annotated[float, Field(description="of the best constant")]
    calibration_error: Annotated[
        float, Field(description="distance of sureness and accuracy over ten bins; few targets leave some by chance")
    ]
    epochs: Annotated[int, Field(description="that the meta-model was trained for")]
    share: ShareNumbers | None = None

    @property
    def guess(self) -> float:
        return self.guessing

    @property
    def guessing(self) -> float:
        """The best that can be named without looking at a model."""
        return max(self.chance, self.most_frequent)

    @property
    def accuracy(self) -> Interval:
        """Ranges named rightly."""
        found = self.metrics["accuracy"]
        assert found is not None  # a meta-model names every target
        return found

    @property
    def mse(self) -> Interval:
        """Squared distance of the named range."""
        found = self.metrics["mse"]
        assert found is not None
        return found

    @property
    def place(self) -> dict[str, Coordinate]:
        names = (name for name in PropertyCell.__dataclass_fields__ if name != "study")
        return coordinates(PropertyCell(**{name: getattr(self, name) for name in names}))


class ModelsMade(Facts):
    """The models behind the cells of one defence: what they are worth, and what the defence costs their owners."""

    dataset: str
    variant: str = ""
    property_text: str
    observed: str
    defense: str
    shadows: int
    targets: int
    rejected: Annotated[int, Field(description="models that were not good enough at their own task to be used")] = 0
    failing_shadows: Annotated[int, Field(description="shadow models that were used below the gate of 90 %")] = 0
    failing_targets: Annotated[
        tuple[int, ...], Field(description="numbers of the target models that were used below the gate of 90 %")
    ] = ()
    learned_nothing: Annotated[
        int, Field(description="models used whose balanced accuracy is not above that of guessing")
    ] = 0
    accuracy: float
    balanced_accuracy: float
    above_90_percent: float
    target_accuracy: Interval
    target_balanced_accuracy: Interval
    rows_held: int
    rows_trained: int
    rows_repeated: float
    epsilon: float | None = None
    delta: float | None = None

    @property
    def warning(self) -> str:
        """A sentence about models that were read although they are poor; empty if there are none."""
        targets, used = len(self.failing_targets), self.shadows + self.targets
        failing = self.failing_shadows + targets
        told = []
        if failing:
            told.append(
                f"{failing} of {used} models ({100 * failing / used:.0f} %), {targets} of them targets, are below the "
                f"{100 * GATE:.0f} % accuracy that the property-inference thesis asks for and were read all the same; "
                f"--least-accuracy {GATE:g} leaves them out"
            )
        if self.learned_nothing:
            told.append(f"{self.learned_nothing} of {used} models learned nothing beyond guessing the commonest label")
        where = "" if self.defense == "none" else f" ({self.defense})"
        return f"Quality gate{where}: {'; '.join(told)}." if told else ""


class PropertySummary(Summary):
    """What share of the training rows has a property, read from models."""

    study: Literal["property"] = "property"
    cells: tuple[PropertyResult, ...]
    models: tuple[ModelsMade, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.mixed, *dict.fromkeys(made.warning for made in self.models if made.warning))

    def lines(self) -> tuple[list[str], list[list[str]]]:
        several = len({cell.reader for cell in self.cells}) > 1
        headings = ["defence", "ranges", "loss", "named rightly", "guessing", "squared error", "guessing", "targets"]
        return headings, [
            [
                cell.defense,
                str(cell.classes),
                " ".join(part for part in (cell.loss, cell.hierarchy, cell.reader if several else "") if part),
                show(cell.accuracy),
                f"{cell.guessing:.2f}",
                show(cell.mse),
                f"{cell.guessing_mse:.2f}",
                str(cell.trials),
            ]
            for cell in self.cells
        ]


TRUE, NAMED, SURE = (Measure(ATTACK, ALL_COLUMNS, name) for name in ("true_range", "named_range", "sureness"))
SHARE, SHARE_LOW, SHARE_HIGH, SHARE_TRUE = (
    Measure(ATTACK, ALL_COLUMNS, name) for name in ("share", "share_low", "share_high", "true_share")
)
EPOCHS = Measure(ATTACK, ALL_COLUMNS, "epochs")
SHADOW_ACCURACY, SHADOW_MSE = (Measure(ATTACK, ALL_COLUMNS, name) for name in ("shadow_accuracy", "shadow_mse"))


def property_result(trials: Trials) -> PropertyResult:
    """The numbers of one meta-model, from its target models."""
    cell = trials.cell
    assert isinstance(cell, PropertyCell)
    true, named = (trials.column(each).astype(np.int64) for each in (TRUE, NAMED))
    score = property_score(true, named, cell.classes)
    guessing = max(score.chance, score.most_frequent)
    return PropertyResult.model_validate(
        coordinates(cell)
        | envelope(trials)
        | {
            "metrics": {"accuracy": score.accuracy, "mse": score.mse} | _on_shadows(trials),
            "judged": {"gain": bootstrap(((true == named) - guessing).tolist())},
            "confusion": score.confusion.tolist(),
            "chance": score.chance,
            "most_frequent": score.most_frequent,
            "guessing_mse": score.middle_mse,
            "calibration_error": calibration_error(trials.column(SURE), true == named),
            "epochs": int(trials.column(EPOCHS)[0]),
            "share": _share(trials),
        }
    )


def _on_shadows(trials: Trials) -> dict[str, Interval]:
    """One number of the meta-model each, so without an interval; earlier runs have none."""
    return {
        measure.metric: Interval(float(trials.column(measure)[0]), None, None)
        for measure in (SHADOW_ACCURACY, SHADOW_MSE)
        if trials.has(measure)
    }


def _share(trials: Trials) -> ShareNumbers | None:
    if not trials.has(SHARE):
        return None
    truth, estimate, low, high = (trials.column(each) for each in (SHARE_TRUE, SHARE, SHARE_LOW, SHARE_HIGH))
    score = share_score(truth, estimate, low, high)
    return ShareNumbers(
        error=score.error, coverage=score.coverage, width=score.width, guessing_error=score.middle_error
    )
