"""Questions that have no answer, as soon as that is known; and what comes nearest where no setting meets the limits."""

from __future__ import annotations

from seepage._core import InputError
from seepage.advice.board import Board
from seepage.advice.space import Candidate

WORTHLESS = {"binary": 0.55, "multiclass": 0.0, "regression": 0.0}  # a score that says that nothing was learned


def distance(board: Board, candidate: Candidate) -> float:
    """How far a setting is beyond the limits, all of them added up; for telling which one is nearest."""
    leak, utility, loss = board.courses[candidate].leak, board.worth(candidate), board.loss(candidate)
    if leak is None or utility is None or loss is None:
        return float("inf")
    limits = board.limits
    dear = limits.min_auc - utility.mean if limits.min_auc is not None else loss.mean - (limits.max_loss or 0.0)
    high = leak.gain.mean if leak.gain.high is None else leak.gain.high
    return max(leak.exact.mean - limits.rows_exact, 0.0) + max(high - limits.gain, 0.0) + max(dear, 0.0)


def check_guessing(board: Board) -> None:
    """A limit that guessing breaks is broken by every setting."""
    for course in board.courses.values():
        leak = course.leak
        if leak is not None and leak.guessed > board.limits.rows_exact and leak.rows_exact <= leak.rows_guessed:
            raise InputError(
                f"Guessing alone, without any update, gets {leak.rows_guessed} of {leak.rows} rows exactly, so no "
                f"setting can keep --max-rows-exact {board.limits.rows_exact:g}; allow more than {leak.guessed:.3f}."
            )


def check_worth(board: Board, task: str) -> None:
    """A plain model that is worth nothing, or less than is asked for, leaves nothing to search."""
    utility = board.worth(board.plain)
    if not any(finding.scored for finding in board.courses[board.plain].findings):
        raise InputError(
            f"The budget ended before {board.plain.name} was trained, and nothing can be compared without it. Give a "
            "larger --budget with the same --out; it goes on from here."
        )
    if utility is None:
        raise InputError(
            "What the model without a defence is worth could not be measured: the test rows have one class, or it "
            "diverged. Check the target, or give more rows."
        )
    if utility.mean <= WORTHLESS[task]:
        raise InputError(
            f"Without any defence the model is no better than a constant answer (its score is {utility.mean:.3f}), so "
            "there is no utility to keep. Check the target, or train longer (--exposure)."
        )
    least, high = board.limits.min_auc, utility.mean if utility.high is None else utility.high
    if least is not None and high < least:
        raise InputError(
            f"--min-auc {least:g} cannot be met: {board.plain.name} gets a ROC AUC of {utility.mean:.3f} (at most "
            f"{high:.3f}), and hiding more does not make it better. Ask for less, or train longer (--exposure)."
        )
