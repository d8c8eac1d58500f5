"""The summary of the study of parties: what each attack read, beside the attacker alone and a guess."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seepage.results.cells import Coordinate, PartiesCell, coordinates
from seepage.results.interval import Interval
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.results.result import Result, envelope
from seepage.results.summary import Summary, show
from seepage.results.trials import Trials

ALONE, GUESS, MODEL = "alone", "guess", "model"  # sources of numbers, beside the attack
QUALITY = ("f1", "macro_f1", "roc_auc")
# What a gate asks for: a host that knows rows, a guest that knows labels.
STRONGEST = {"columns": (("known_rows",),), "labels": (("gradient_completion", "gradient_norm"),)}


class PartiesResult(Result):
    """One attack of one party on another, in one design and behind one defence. A trial is a training with another
    split and other seeds; numbers are means over the attacked, or attacking, guests. ``metrics`` holds ``read`` (share
    of the cells that the host did not know, of ``zeros_and_ones`` the share of categories, of labels the ROC AUC),
    ``alone`` (the same knowledge without a message), ``guess``, ``gain`` (beyond the better of the two; twice an AUC's
    way), ``either`` (of two classes: the AUC of an attacker who is told which group is which), and ``f1`` (weighted by
    classes), ``macro_f1`` and ``roc_auc`` of the trained model on rows it never saw."""

    design: str
    guests: int
    reads: Annotated[str, Field(description="`columns`: the host reads a guest's; `labels`: a guest reads the host's")]
    attack: str
    defense: str = "none"
    epsilon: Annotated[
        float | None,
        Field(
            description="of what stands in a row's own lines, over all messages; no guarantee for a person. Null if "
            "nothing is promised"
        ),
    ] = None

    @property
    def place(self) -> dict[str, Coordinate]:
        names = (name for name in PartiesCell.__dataclass_fields__ if name != "study")
        return coordinates(PartiesCell(**{name: getattr(self, name) for name in names}))

    @property
    def guess(self) -> float:
        found = self.metrics.get("guess")
        return found.mean if found and self.reads == "columns" else 0.0

    @property
    def may_hide(self) -> bool:
        """A run's number is a mean over all rows of the table, so no run hides what the others show."""
        return False


class PartiesSummary(Summary):
    """What the parties of vertical training read of each other in the messages that cross anyway."""

    study: Literal["parties"] = "parties"
    cells: tuple[PartiesResult, ...]

    def lines(self) -> tuple[list[str], list[list[str]]]:
        told = [name for name in ("dataset", "design", "defense", "variant") if self._varies(name)]
        headings = [*told, "attack", "of", "read", "alone", "guess", "F1", "ROC AUC"]
        return headings, [
            [
                *(str(getattr(cell, name)) for name in told),
                cell.attack,
                cell.reads,
                *(show(cell.metrics.get(name)) for name in ("read", "alone", "guess", "f1", "roc_auc")),
            ]
            for cell in self.cells
        ]

    def _varies(self, name: str) -> bool:
        return len({getattr(cell, name) for cell in self.cells}) > 1


def parties_result(trials: Trials) -> PartiesResult:
    """The numbers of one attack over its runs."""
    sources = {name: (ATTACK, name) for name in ("read", "gain", "either")}
    sources |= {"alone": (ALONE, "read"), "guess": (GUESS, "read")}
    sources |= {name: (MODEL, name) for name in QUALITY}
    metrics = {
        name: trials.interval(Measure(source, ALL_COLUMNS, metric)) for name, (source, metric) in sources.items()
    }
    epsilon = _mean(trials.interval(Measure(MODEL, ALL_COLUMNS, "epsilon")))
    return PartiesResult.model_validate(
        coordinates(trials.cell)
        | envelope(trials)
        | {"metrics": metrics, "judged": {"gain": metrics["gain"]}, "epsilon": epsilon}
    )


def _mean(value: Interval | None) -> float | None:
    return None if value is None else value.mean
