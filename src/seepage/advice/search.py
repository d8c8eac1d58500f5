"""The search: successive halving by intervals, within a budget of seconds.

A setting leaves the search only where a limit is broken even at the good end of its interval, where another one is
better beyond doubt, or where the same defence leaked when it was stronger or cost too much when it was weaker. What is
left over when the time of a stage is gone is told as not tested, never as unsafe.

NOTE[DIFF] strengths are halved by ratio between one that leaks and one that costs too much. Optuna's samplers were
tried in its place (``benchmarks/strengths.py``, ``docs/how-to/advise.md``): with the three measurements that a budget
allows, TPE comes far less near the best strength, and the Gaussian process not nearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from seepage.advice.board import Board
from seepage.advice.checks import check_guessing, check_worth, distance
from seepage.advice.limits import Verdict
from seepage.advice.measured import Finding
from seepage.advice.space import Candidate, between, from_weak, neighbours
from seepage.advice.stages import ARSENAL, CONFIRM, CONFIRMING, LONGER, PRESS, SCREEN, TRAIN, Stage

AT_ONCE = 6  # settings that are screened in one run: it takes seconds to begin one
FOLLOWED = 3  # settings that are looked at longer, at most
TRIES = 6  # settings that are tried to be confirmed, at most
HALVINGS = 3  # of the interval between two strengths, at most


class Measure(Protocol):
    """Runs a stage on some settings."""

    def __call__(
        self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None = None
    ) -> dict[Candidate, Finding] | None:
        """What was found, and what the setting ``only_worth`` is worth; None when there is no time for it."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search ended with.

    Args:
        recommended: meets all limits after all attacks; None if nothing does.
        confirmed: whether the whole arsenal was run on it.
        next_best: other settings that held the limits when they were last looked at.
        nearest: where nothing meets the limits, what came nearest.
        untested: candidates for which there was no time.
        implied: candidates that were left out, since the same defence leaked when it was stronger.
    """

    recommended: Candidate | None
    confirmed: bool
    next_best: tuple[Candidate, ...]
    nearest: Candidate | None
    untested: tuple[Candidate, ...]
    implied: tuple[Candidate, ...] = ()


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
    screened = _through(board, SCREEN, [board.plain], measure, 1)
    rest = [each for each in every if each != board.plain]
    screened += _through(board, SCREEN, rest, measure, max(together, AT_ONCE))
    check_guessing(board)
    trained = _through(board, TRAIN, [board.plain], measure, 1)
    check_worth(board, task)
    narrowing = _Narrowing(board, every, measure, together, screened, trained)
    found = narrowing.through(narrowing.untrained(), TRAIN, PRESS)
    # The shares of time are for a search that has enough of it. What is left over goes to what was not trained yet,
    # a few at a time, so that each has its chance to be confirmed.
    train, press = (replace(stage, until=1.0) for stage in (TRAIN, PRESS))
    while not found.confirmed and (part := narrowing.untrained()[:together]):
        found = narrowing.through(part, train, press)
        if narrowing.untrained()[:together] == part:
            break
    return found


@dataclass
class _Narrowing:
    """From many settings to one.

    Args:
        screened: what was attacked quickly.
        trained: what was trained; grows.
    """

    board: Board
    every: Sequence[Candidate]
    measure: Measure
    together: int
    screened: list[Candidate]
    trained: list[Candidate]

    def untrained(self) -> list[Candidate]:
        """What survived so far, and whose worth is not known."""
        alive = [each for each in self.board.alive(self.screened) if each != self.board.plain]
        return weak_first(self.board, [each for each in alive if self.board.worth(each) is None])

    def through(self, waiting: Sequence[Candidate], train: Stage, press: Stage) -> Found:
        """Train settings, press them, look longer at what is left of all, and confirm the best of it."""
        self.trained += _through(self.board, train, waiting, self.measure, self.together)
        _press(self.board, press, self.trained, self.measure, self.together)
        self.trained += _refine(self.board, press, [*self.screened, *self.trained], self.measure)
        left = self.board.alive(self.trained)
        # Nothing to tell apart where one is left; and the rest is for fresh seeds.
        if len(left) > 1 and not settled(self.board, left):
            _longer(self.board, left[:FOLLOWED], self.measure)
        return _confirm(self.board, self.trained, self.every, self.measure)


def weak_first(board: Board, every: Sequence[Candidate]) -> list[Candidate]:
    """The weakest strength of every defence that survived, then the next ones: what costs least is looked at first.

    Of these the ones that held come first, then small batches: they take less time, so that more are looked at. How far
    an attack stayed below guessing says nothing about what a setting is worth.
    """
    groups: dict[Candidate, list[Candidate]] = {}
    for each in every:
        groups.setdefault(each.group, []).append(each)
    places = {each: place for group in groups.values() for place, each in enumerate(from_weak(group))}
    return sorted(every, key=lambda each: (places[each], board.rank(each)[0], each.batch_size, board.rank(each)))


def _through(
    board: Board, stage: Stage, every: Sequence[Candidate], measure: Measure, together: int
) -> list[Candidate]:
    """Bring settings through a stage, some at once, as long as there is time."""
    done: list[Candidate] = []
    waiting = list(dict.fromkeys(every))
    while waiting:
        waiting = [each for each in waiting if not board.leaks_stronger(each) and not board.costs_weaker(each)]
        part, waiting = waiting[:together], waiting[together:]
        if part and (found := measure(stage, part)):  # what is stored of earlier sessions counts without time, too
            board.add(found)
            done += [each for each in part if each in found]  # there may have been time for some of them
    return done


def _press(board: Board, stage: Stage, every: Sequence[Candidate], measure: Measure, together: int) -> None:
    """Full-length attacks on the most promising ones, until some of them hold; the rest would cost more."""
    tried: set[Candidate] = set()
    while sum(board.pressed(each) and board.meets(each) for each in every) < FOLLOWED:
        waiting = [each for each in board.alive(every) if each not in tried and not board.pressed(each)]
        part = [each for each in waiting if board.affordable(each)][:together]
        if not part:
            return
        tried |= set(part)
        if found := measure(stage, part):
            board.add(found)


def _refine(board: Board, press: Stage, every: Sequence[Candidate], measure: Measure) -> list[Candidate]:
    """Strengths between one that leaks and one that costs too much, halved again and again."""
    late, known = replace(TRAIN, until=press.until), list(dict.fromkeys(every))
    for _ in range(HALVINGS):
        new = [each for each in refinements(board, known) if each not in board.courses]
        trained = _through(board, late, new, measure, 1)
        _press(board, press, trained, measure, 1)
        known += trained
        if not trained:
            break
    return known[len(dict.fromkeys(every)) :]


def _longer(board: Board, every: Sequence[Candidate], measure: Measure) -> None:
    """The most promising ones together, so that trainings are compared with those of the plain setting."""
    only_worth = None if board.plain in every else board.plain
    if found := measure(LONGER, every, only_worth):
        board.add(found)


def _confirm(board: Board, trained: Sequence[Candidate], every: Sequence[Candidate], measure: Measure) -> Found:
    """The whole arsenal and fresh seeds on the best; on the next one if that breaks it.

    One that seems to cost too much is not worth it: the arsenal takes longer than training several others.
    """
    tried: list[Candidate] = []
    confirmed = None
    for _ in range(TRIES):
        left = [each for each in board.alive(trained) if each not in tried]  # one less may beat others
        best = next(filter(board.affordable, left), None)
        if best is None:
            break
        tried.append(best)
        if _holds(board, best, measure):
            confirmed = best
            break
    open_ = [each for each in dict.fromkeys(trained) if board.meets(each) and not board.out(each)]
    waiting = [each for each in open_ if board.courses[each].stage not in CONFIRMING]
    chosen = confirmed or min(waiting, key=board.rank, default=None)
    worth = [each for each in board.courses if board.worth(each) is not None]
    missed = [each for each in every if each not in board.courses]
    return Found(
        recommended=chosen,
        confirmed=confirmed is not None,
        next_best=tuple(sorted((each for each in open_ if each != chosen), key=board.rank)[:2]),
        nearest=None if chosen else min(worth, key=lambda each: distance(board, each), default=None),
        untested=tuple(each for each in missed if not board.leaks_stronger(each)),
        implied=tuple(each for each in missed if board.leaks_stronger(each)),
    )


def _holds(board: Board, candidate: Candidate, measure: Measure) -> bool:
    """Whether a setting holds under every attack: on few updates first, which is enough to see most leaks."""
    only_worth = None if candidate == board.plain else board.plain
    for stage in (ARSENAL, CONFIRM):
        found = measure(stage, [candidate], only_worth)
        if found is None:  # there is no time for this one; attacks on another may be quicker
            break
        board.add(found)
        if board.safety(candidate) is Verdict.BROKEN or not board.affordable(candidate):
            return False
    return board.courses[candidate].stage in CONFIRMING and board.meets(candidate)


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
        leaks = board.safety(weak) is Verdict.BROKEN
        dear = board.worth(strong) is not None and not board.affordable(strong)
        if leaks and dear and (middle := between(weak, strong)):
            found.append(middle)
    return found
