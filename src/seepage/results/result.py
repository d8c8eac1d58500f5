"""One tested combination: what the results of all studies have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seepage._core import Outcome
from seepage.results.cells import Coordinate
from seepage.results.facts import Facts
from seepage.results.interval import Interval
from seepage.results.trials import Trials

ATTACKERS = ("attack", "reader", "loss", "hierarchy")  # coordinates that the attacker chooses; the first names it
# Endings in words. An attack that used its budget did what it was told to: it did not fail.
ENDINGS = {
    Outcome.OK.code: "finished",
    Outcome.BUDGET_SPENT.code: "whole budget used",
    Outcome.DIVERGED.code: "diverged",
    Outcome.NOT_APPLICABLE.code: "does not apply",
    Outcome.FAILED.code: "failed",
}
_SCORED = {outcome.code for outcome in Outcome if outcome.scored}


class Result(Facts):
    """What every cell of every study has."""

    id: Annotated[str, Field(description="stable short name")]
    dataset: str
    variant: Annotated[str, Field(description="what else differs within a plan (`labels_known=false`)")] = ""
    trials: Annotated[int, Field(description="repetitions: attacked batches, recoveries, target models, trainings")]
    failed: Annotated[
        int, Field(description="trials that gave nothing to score; they are counted here and never averaged")
    ] = 0
    outcome: Annotated[str, Field(description="how most of the scored trials ended")]
    outcomes: Annotated[dict[str, int], Field(description="how many trials ended how")]
    seconds: Annotated[float, Field(description="compute time")] = 0.0
    notes: Annotated[tuple[str, ...], Field(description="what the attack had to say")] = ()
    metrics: Annotated[dict[str, Interval | None], Field(description="means with 95 % intervals over trials")]
    judged: Annotated[
        dict[str, Interval | None],
        Field(
            description="what a gate looks at: `exact` and `emr`, rows read exactly and nearly; `gain`, what is read "
            "beyond the best guess"
        ),
    ] = Field(default_factory=dict)
    strongest: Annotated[
        tuple[tuple[str, ...], ...] | None,
        Field(
            description="attacks that must have been run before a gate passes, the strongest first, equals together; "
            "the next ones count where those before them do not apply, or leave rows to them. Null: not known"
        ),
    ] = None
    weaker: Annotated[
        str, Field(description="how this attack was run with less than it ships with; empty if it was not")
    ] = ""

    @property
    def attacker(self) -> str:
        """The name of what attacked, without its options; empty if nothing has a name here."""
        return next((str(self.place[name]).partition(":")[0] for name in ATTACKERS if name in self.place), "")

    @property
    def knowing(self) -> str:
        """The attack that knows the defence of this choice, without which nothing can be said of it; empty if none."""
        return ""

    @property
    def leaves_rows(self) -> bool:
        """Whether it says itself that it could not determine every row, where the next of the strongest may."""
        return False

    @property
    def guess(self) -> float:
        """What guessing gets, as a share: the rest is the most that can be read beyond it."""
        return 0.0

    @property
    def may_hide(self) -> bool:
        """Whether leakage may show in few of the trials only, so that it takes many to see it."""
        return True

    @property
    def place(self) -> dict[str, Coordinate]:
        """The coordinates, by name: what was tested."""
        raise NotImplementedError

    @property
    def read_everything(self) -> bool:
        """Whether there was nothing left to read."""
        return False

    @property
    def ending(self) -> str:
        """How most of the scored trials ended, for people."""
        if self.outcome == Outcome.BUDGET_SPENT.code and self.read_everything:
            return "all read"
        return ENDINGS.get(self.outcome, self.outcome.replace("_", " "))

    @property
    def measured(self) -> bool:
        """Whether any trial gave a number."""
        return self.trials > self.failed


def envelope(trials: Trials) -> dict[str, object]:
    """What a result says of its trials, whatever was measured."""
    outcomes, scored = trials.outcomes, int(trials.scored.sum())
    pool = {code: n for code, n in outcomes.items() if (code in _SCORED) == bool(scored)} or outcomes
    return {
        "id": trials.cell.id,
        "trials": len(trials.scored),
        "failed": len(trials.scored) - scored,
        "outcome": max(sorted(pool), key=lambda code: pool[code]),
        "outcomes": outcomes,
        "seconds": round(float(trials.heads["seconds"].sum()), 3),
        "notes": tuple(dict.fromkeys(note for note in trials.heads["note"].to_list() if note)),
    }
