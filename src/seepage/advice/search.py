"""The search: successive halving by intervals, within a budget of seconds.

A setting leaves the search only where a limit is broken even at the good end of its interval, or where another one is
better beyond doubt. What is left over when the time of a stage is gone is told as not tested, never as unsafe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from seepage._core import InputError
from seepage.advice.board import Board
from seepage.advice.limits import Verdict
from seepage.advice.measured import Finding
from seepage.advice.space import Candidate, between, neighbours
from seepage.advice.stages import CONFIRM, LONGER, SCREEN, TRAIN, Stage

AT_ONCE = 6  # settings that are screened in one run: it takes seconds to begin one
FOLLOWED = 4  # settings that are looked at longer, at most
WORTHLESS = {"binary": 0.55, "multiclass": 0.0, "regression": 0.0}  # a score that says that nothing was learned


class Measure(Protocol):
    """Runs a stage on some settings."""

    def __call__(
        self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None = None
    ) -> dict[Candidate, Finding] | None:
        """What was found, and what the setting ``only_worth`` is worth; None when the time of the stage is gone."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search ended with.

    Args:
        recommended: meets all limits after all attacks; None if nothing does.
        confirmed: whether the whole arsenal was run on it.
        next_best: other settings that held the limits when they were last looked at.
        nearest: where nothing meets the limits, what came nearest.
        untested: candidates for which there was no time.
    """

    recommended: Candidate | None
    confirmed: bool
    next_best: tuple[Candidate, ...]
    nearest: Candidate | None
    untested: tuple[Candidate, ...]


def search(
    board: Board, every: Sequence[Candidate], measure: Measure, *, task: str = "binary", together: int = 1
) -> Found:
    """Find the setting that leaks within the limits and costs least.

    Args:
        board: keeps what is found.
        every: the candidates, the plain setting first.
        measure: runs a stage on some settings.
        together: settings that are measured at once, in processes of their own.
    """
    screened = _through(board, SCREEN, every, measure, max(together, AT_ONCE))
    check_guessing(board)
    survivors = [each for each in board.alive(screened) if each != board.plain]
    trained = _through(board, TRAIN, [board.plain], measure, 1)
    check_worth(board, task)
    trained += _through(board, TRAIN, survivors, measure, together)
    refined = [each for each in refinements(board, [*screened, *trained]) if each not in board.courses]
    trained += _through(board, TRAIN, refined, measure, together)
    left = board.alive(trained)
    # Nothing to tell apart where one is left; and the rest is for fresh seeds.
    if len(left) > 1 and not settled(board, left):
        _longer(board, left[:FOLLOWED], measure)
        left = board.alive(left)
    return _confirm(board, left, every, measure)


def _through(
    board: Board, stage: Stage, every: Sequence[Candidate], measure: Measure, together: int
) -> list[Candidate]:
    """Bring settings through a stage, some at once, until its time is gone."""
    done: list[Candidate] = []
    for part in batched(dict.fromkeys(every), together):
        if found := measure(stage, part):  # when time is gone, what is stored of earlier sessions still counts
            board.add(found)
            done += part
    return done


def _longer(board: Board, every: Sequence[Candidate], measure: Measure) -> None:
    """The most promising ones together, so that trainings are compared with those of the plain setting."""
    only_worth = None if board.plain in every else board.plain
    if found := measure(LONGER, every, only_worth):
        board.add(found)


def batched(every: Iterable[Candidate], size: int) -> list[list[Candidate]]:
    """In parts of this size, in their order."""
    listed = list(every)
    return [listed[begin : begin + size] for begin in range(0, len(listed), size)]


def _confirm(board: Board, left: Sequence[Candidate], every: Sequence[Candidate], measure: Measure) -> Found:
    """The whole arsenal and fresh seeds on the best; on the next one if that breaks it."""
    queue, confirmed = list(left), None
    for _ in range(FOLLOWED):
        if not queue:
            break
        best = min(queue, key=board.rank)
        queue.remove(best)
        found = measure(CONFIRM, [best], None if best == board.plain else board.plain)
        if found is None:  # there is no time for this one; attacks on another may be quicker
            continue
        board.add(found)
        if board.safety(best) is Verdict.HELD and board.affordable(best):
            confirmed = best
            break
    open_ = [each for each in left if board.safety(each) is Verdict.HELD and board.affordable(each)]
    chosen = confirmed or min(
        (each for each in open_ if board.courses[each].stage != CONFIRM.name), key=board.rank, default=None
    )
    trained = [each for each in board.courses if board.worth(each) is not None]
    return Found(
        recommended=chosen,
        confirmed=confirmed is not None,
        next_best=tuple(sorted((each for each in open_ if each != chosen), key=board.rank)[:2]),
        nearest=None if chosen else min(trained, key=lambda each: distance(board, each), default=None),
        untested=tuple(each for each in every if each not in board.courses),
    )


def settled(board: Board, left: Sequence[Candidate]) -> bool:
    """The stop rule: the first holds every limit, and loses so little that no other can be told to be better."""
    first = board.point(left[0])
    if first is None or board.safety(left[0]) is not Verdict.HELD or board.cost(left[0]) is not Verdict.HELD:
        return False
    others = [point for each in left[1:] if (point := board.point(each))]
    return all(
        other.utility.high is not None and first.utility.low is not None and other.utility.high < first.utility.low
        for other in others
    )


def refinements(board: Board, every: Sequence[Candidate]) -> list[Candidate]:
    """Strengths between one that leaks and the next one, which does not but costs too much."""
    found = []
    for weak, strong in neighbours(list(dict.fromkeys(every))):
        leaks = board.safety(weak) is not Verdict.HELD
        dear = board.worth(strong) is not None and not board.affordable(strong)
        if leaks and dear and (middle := between(weak, strong)):
            found.append(middle)
    return found


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
