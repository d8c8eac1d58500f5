"""What was measured of one setting, read from the summary of a run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scipy.special import stdtrit

from seepage._core import Outcome
from seepage.advice.limits import SCORES, unseen
from seepage.advice.space import Candidate
from seepage.advice.stages import STAGES
from seepage.results.interval import Interval, bootstrap
from seepage.results.rows import RowsResult, RowsSummary
from seepage.results.tallies import TallyResult

FEW = 5  # values from which on resampling is trusted
UNTRAINED = tuple(stage.name for stage in STAGES if not stage.trained)
Scores = Mapping[tuple[int, int], float]  # by seed and training


@dataclass(frozen=True, kw_only=True)
class Leak:
    """What the best of the attacks read of a setting: of every number the largest that one of them reached.

    Args:
        attack: the one that read most cells.
        attacks: all that were tried and gave something to score.
        trials: attacked updates of each.
        rows, rows_exact, rows_guessed: attacked rows, those read exactly, and those that the best guess gets.
        exact: share of rows read exactly. Its ends allow for what so few updates would not show.
        gain: share of cells read beyond the best guess.
        failed: attacks that broke off, of which nothing is known.
        presence: share of all categories of which it was rightly said whether a batch has them, beyond a guess from
            public shares; None where none could be told.
    """

    attack: str
    attacks: tuple[str, ...]
    trials: int
    rows: int
    rows_exact: int
    rows_guessed: int
    exact: Interval
    gain: Interval
    failed: int = 0
    presence: Interval | None = None

    @property
    def guessed(self) -> float:
        """Share of the rows that guessing gets."""
        return self.rows_guessed / self.rows if self.rows else 0.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One setting at one stage. ``leak`` counts only where it was attacked in earnest: not with ``only_worth``."""

    candidate: Candidate
    stage: str
    leak: Leak | None
    scores: Scores
    epsilon: float | None = None
    only_worth: bool = False

    @property
    def scored(self) -> bool:
        """Whether models were trained, so that they could be scored."""
        return self.stage not in UNTRAINED


def read_findings(
    summary: RowsSummary,
    every: Sequence[Candidate],
    stage: str,
    seed: int,
    task: str,
    only_worth: Candidate | None = None,
) -> dict[Candidate, Finding]:
    """The findings of a run, each under its setting. Cases of the run have the names of the settings."""
    found = {}
    for candidate in every:
        cells = [cell for cell in summary.cells if cell.variant == candidate.name]
        best = [entry for entry in summary.utility if entry.variant == candidate.name and entry.attack_point == "best"]
        scores = {(seed, each.repeat): value for each in best if (value := _score(each.test, task)) is not None}
        promised = [each.epsilon for each in summary.privacy if each.variant == candidate.name]
        known = [value for value in promised if value is not None]
        epsilon = max(known) if known and len(known) == len(promised) else None
        found[candidate] = Finding(
            candidate=candidate,
            stage=stage,
            leak=read_leak(cells, [each for each in summary.tallies if each.variant == candidate.name]),
            scores=scores,
            epsilon=epsilon,
            only_worth=candidate == only_worth,
        )
    return found


def read_leak(cells: Sequence[RowsResult], tallies: Sequence[TallyResult] = ()) -> Leak | None:
    """What was read in the cells of one setting; None where no attack gave anything to score."""
    scored = [cell for cell in cells if cell.judged.get("exact") and cell.judged.get("gain")]
    if not scored:
        return None
    best = max(scored, key=lambda cell: _of(cell, "gain").mean)
    most = max(scored, key=lambda cell: cell.rows_exact / cell.rows if cell.rows else 0.0)
    trials = min(cell.trials - cell.failed for cell in scored)
    exact = _largest([_of(cell, "exact") for cell in scored])
    told = [value for each in tallies if (value := each.judged.get("presence")) is not None]
    broke = (Outcome.FAILED.code, Outcome.DIVERGED.code)
    return Leak(
        attack=best.attack,
        attacks=tuple(dict.fromkeys(cell.attack for cell in scored)),
        trials=trials,
        rows=most.rows,
        rows_exact=most.rows_exact,
        rows_guessed=max(cell.rows_guessed for cell in scored),
        exact=_widened(exact, trials),
        gain=_largest([_of(cell, "gain") for cell in scored]),
        failed=sum(cell.outcomes.get(code, 0) for cell in cells for code in broke),
        presence=_largest(told) if told else None,
    )


def pooled(leaks: Sequence[Leak]) -> Leak:
    """What the same attacks read on different updates, taken together: shares weighted by updates, their errors added.

    Example:
        >>> one = Leak(attack="fast", attacks=("fast",), trials=10, rows=80, rows_exact=0, rows_guessed=0,
        ...            exact=Interval(0.0, 0.0, 0.26), gain=Interval(0.02, -0.04, 0.08))
        >>> both = pooled([one, replace(one, trials=30, rows=240, gain=Interval(0.02, -0.01, 0.05))])
        >>> both.trials, round(both.exact.high, 3), round(both.gain.high, 3)
        (40, 0.072, 0.047)
    """
    trials = sum(each.trials for each in leaks)
    weights = [each.trials / trials if trials else 1 / len(leaks) for each in leaks]
    exact = _together([each.exact for each in leaks], weights)
    exact = exact if exact.mean > 0 else Interval(0.0, 0.0, 0.0)  # the ends of each are what so few would not show
    return replace(
        max(leaks, key=lambda each: each.gain.mean),
        trials=trials,
        attacks=tuple(dict.fromkeys(attack for each in leaks for attack in each.attacks)),
        rows=sum(each.rows for each in leaks),
        rows_exact=sum(each.rows_exact for each in leaks),
        rows_guessed=sum(each.rows_guessed for each in leaks),
        exact=_widened(exact, trials),
        gain=_together([each.gain for each in leaks], weights),
        presence=_presence(leaks),
        failed=sum(each.failed for each in leaks),
    )


def _presence(leaks: Sequence[Leak]) -> Interval | None:
    """Of all updates of stages in which it could be told; None where it could in none."""
    known = [(each.presence, each.trials) for each in leaks if each.presence is not None]
    trials = sum(many for _, many in known)
    return _together([value for value, _ in known], [many / trials for _, many in known]) if trials else None


def _together(every: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """The weighted mean of independent means; without ends if one of them has none."""
    mean = sum(weight * each.mean for weight, each in zip(weights, every, strict=True))
    below = [
        weight * (each.mean - each.low) for weight, each in zip(weights, every, strict=True) if each.low is not None
    ]
    above = [
        weight * (each.high - each.mean) for weight, each in zip(weights, every, strict=True) if each.high is not None
    ]
    if len(below) < len(every) or len(above) < len(every):
        return Interval(mean, None, None)
    return Interval(mean, mean - math.hypot(*below), mean + math.hypot(*above))


def worth(scores: Scores) -> Interval | None:
    """The score of a setting's models, over trainings. None of our scores is above 1."""
    found = _over_trainings(list(scores.values()))
    return found and replace(found, high=None if found.high is None else min(found.high, 1.0))


def lost(scores: Scores, plain: Scores) -> Interval | None:
    """What is lost against the plain setting, training by training: both met the same rows and first weights."""
    return _over_trainings([plain[key] - scores[key] for key in scores if key in plain])


def _over_trainings(values: Sequence[float]) -> Interval | None:
    """An interval of the mean; for a few trainings Student's, since resampling two or three of them covers too little.

    Example:
        >>> _over_trainings([0.70, 0.72]).low < 0.6
        True
    """
    if not 1 < len(values) < FEW:
        return bootstrap(values)
    mean, spread = statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5
    reach = float(stdtrit(len(values) - 1, 0.975)) * spread
    return Interval(mean, mean - reach, mean + reach)


def _score(test: Mapping[str, float | None] | None, task: str) -> float | None:
    return None if test is None else test.get(SCORES[task][0])


def _of(cell: RowsResult, name: str) -> Interval:
    value = cell.judged[name]
    assert value is not None
    return value


def _largest(every: Sequence[Interval]) -> Interval:
    """Of the best attack at each end; without ends if one of them has none."""
    lows, highs = [each.low for each in every], [each.high for each in every]
    return Interval(
        max(each.mean for each in every),
        None if None in lows else max(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
    )


def _widened(exact: Interval, trials: int) -> Interval:
    """Resampling zeros gives zeros: what would be missed by so few updates is allowed for."""
    missed = unseen(trials)
    low = min(exact.mean if exact.low is None else exact.low, 1 - missed) if exact.mean > 0 else 0.0
    high = max(exact.mean if exact.high is None else exact.high, missed) if exact.mean < 1 else 1.0
    return Interval(exact.mean, low, high)
