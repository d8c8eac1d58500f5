"""What the user allows, and how a measured number stands to it: held, broken, or not clear yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seepage._core import InputError
from seepage.results.interval import Interval

USUAL_LOSS = 0.01  # of the score, if neither limit on utility is given
CHANCE = 0.5  # ROC AUC of guessing
MISSED = 0.05  # how often a leak may go unseen: what the upper end of "none was read" stands for


class Verdict(StrEnum):
    """How a number stands to its limit."""

    HELD = "held"
    UNCLEAR = "unclear"
    BROKEN = "broken"


def worst(*verdicts: Verdict) -> Verdict:
    """The worst of several: one broken limit is enough.

    Example:
        >>> worst(Verdict.HELD, Verdict.UNCLEAR)
        <Verdict.UNCLEAR: 'unclear'>
    """
    order = [Verdict.HELD, Verdict.UNCLEAR, Verdict.BROKEN]
    return max(verdicts, key=order.index, default=Verdict.HELD)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is allowed.

    Args:
        rows_exact: largest share of rows read exactly.
        gain: largest share of cells read beyond the best guess.
        min_auc: smallest ROC AUC of the model; None if ``max_loss`` is the limit.
        max_loss: most of the score that may be lost against the plain setting.

    Example:
        >>> Limits(gain=0.1).max_loss
        0.01
    """

    rows_exact: float = 0.0
    gain: float = 0.05
    min_auc: float | None = None
    max_loss: float | None = None

    def __post_init__(self) -> None:
        for flag, value in (("--max-rows-exact", self.rows_exact), ("--max-gain", self.gain)):
            if not 0 <= value < 1:
                raise InputError(f"{flag} is {value:g}; it is a share from 0 to below 1, and 1 would allow everything.")
        if self.min_auc is not None and self.max_loss is not None:
            raise InputError(
                "--min-auc and --max-loss both say what the model must be worth; give one of them, not both."
            )
        if self.min_auc is not None and not CHANCE < self.min_auc < 1:
            raise InputError(f"--min-auc is {self.min_auc:g}; it lies between {CHANCE} (a guess) and 1 (no mistake).")
        if self.max_loss is not None and not 0 <= self.max_loss < 1:
            raise InputError(f"--max-loss is {self.max_loss:g}; it is a difference of scores, from 0 to below 1.")
        if self.min_auc is None and self.max_loss is None:
            object.__setattr__(self, "max_loss", USUAL_LOSS)

    def check_task(self, task: str) -> None:
        """An AUC is of yes and no only."""
        if self.min_auc is not None and task != "binary":
            raise InputError(
                f"--min-auc is for a target of two classes, and this one is {task}; say --max-loss instead: what of "
                f"{SCORES[task][1]} may be lost."
            )

    def of_rows(self, exact: Interval) -> Verdict:
        """Rows read exactly. Where none was, the limit is held in what was seen; its upper end is told beside it.

        Example:
            >>> Limits().of_rows(Interval(0.0, 0.0, 0.14)), Limits().of_rows(Interval(0.1, 0.0, 0.3))
            (<Verdict.HELD: 'held'>, <Verdict.BROKEN: 'broken'>)
        """
        if exact.mean == 0:
            return Verdict.HELD
        return Verdict.BROKEN if self.rows_exact == 0 else at_most(exact, self.rows_exact)

    def of_gain(self, gain: Interval) -> Verdict:
        """Cells read beyond guessing."""
        return at_most(gain, self.gain)

    def of_worth(self, utility: Interval, loss: Interval) -> Verdict:
        """What the model is worth."""
        if self.min_auc is not None:
            turned = Interval(-utility.mean, _minus(utility.high), _minus(utility.low))
            return at_most(turned, -self.min_auc)
        return at_most(loss, self.max_loss or 0.0)

    def affords(self, utility: Interval, loss: Interval) -> bool:
        """Whether the mean is within the limit on what the model is worth."""
        return utility.mean >= self.min_auc if self.min_auc is not None else loss.mean <= (self.max_loss or 0.0)


SCORES = {"binary": ("roc_auc", "ROC AUC"), "multiclass": ("f1_macro", "macro F1"), "regression": ("r2", "R²")}


def at_most(value: Interval, most: float) -> Verdict:
    """How an interval stands to an upper limit; one without ends leaves it open.

    Example:
        >>> at_most(Interval(0.1, 0.06, 0.2), 0.05), at_most(Interval(0.02, -0.1, 0.2), 0.05)
        (<Verdict.BROKEN: 'broken'>, <Verdict.UNCLEAR: 'unclear'>)
    """
    if value.low is None or value.high is None:
        return Verdict.UNCLEAR
    if value.low > most:
        return Verdict.BROKEN
    return Verdict.HELD if value.high <= most else Verdict.UNCLEAR


def unseen(trials: int) -> float:
    """The largest share of updates that could leak and still not be among so many attacked ones, 19 times of 20.

    Example:
        >>> round(unseen(59), 3)
        0.05
    """
    return float(1 - MISSED ** (1 / trials)) if trials > 0 else 1.0


def _minus(value: float | None) -> float | None:
    return None if value is None else -value
