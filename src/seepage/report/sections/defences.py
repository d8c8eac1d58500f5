"""Which defences held: an attacker who is blind to them beside one who knows their settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seepage.dp.lower_bounds import share_bounds
from seepage.dp.reconstruction import reconstruction_bound
from seepage.report import words
from seepage.report.leaks import Leak, leaks_of
from seepage.report.section import Section
from seepage.results import Interval
from seepage.results.cells import Coordinate
from seepage.results.defended import ADAPTIVE, Defended, judge
from seepage.results.rows import Promise, RowsSummary

_SETTING = ("dataset", "protocol", "model", "batch_size", "defense", "attack_point", "watched", "variant")
_TRAINED = ("dataset", "protocol", "model", "batch_size", "defense", "variant")
_SAMPLED = ("dp_sgd",)  # their epsilon counts on nobody knowing which rows are in a batch


@dataclass(frozen=True, kw_only=True)
class RowBound:
    """How many rows any attack can read exactly, by epsilon, beside how many were.

    Args:
        read: share of rows that the attack which read most of them read exactly.
        most: share that epsilon allows; 1 is no bound.
        above: surely more was read, so that the guarantee does not hold as it was computed.
    """

    read: float
    most: float
    above: bool

    @property
    def said(self) -> str:
        """The bound in words."""
        most = words.percent(self.most) if self.most < 1 else "no bound"
        return f"{most}: exceeded, so the guarantee does not hold" if self.above else most


@dataclass(frozen=True, kw_only=True)
class DefenceLine:
    """One defended setting. An attack that was not run, or gave nothing to score, has no number.

    Args:
        bound: None where the defence has no epsilon, or nothing was scored.
    """

    label: str
    naive: Interval | None
    naive_name: str
    adaptive: Interval | None
    guess: Interval | None
    verdict: Defended
    why: str
    bound: RowBound | None = None

    @property
    def said(self) -> str:
        """The verdict in words, with what stands in the way of another."""
        return f"{self.verdict.value}: {self.why}" if self.why else self.verdict.value


@dataclass(frozen=True)
class Defences:
    """All defended settings, and what the adversary of the run holds."""

    every: tuple[DefenceLine, ...]
    adversary: str

    @property
    def held(self) -> bool:
        """Whether there is one that held."""
        return any(line.verdict is Defended.HELD for line in self.every)

    @property
    def bounded(self) -> bool:
        """Whether there is one with an epsilon."""
        return any(line.bound for line in self.every)


def defences(summary: RowsSummary) -> Defences | None:
    """One line for every defended setting; nothing where there is no defence."""
    settings: dict[tuple[object, ...], list[Leak]] = {}
    for leak in leaks_of(summary):
        if leak.place["defense"] != "none":
            settings.setdefault(tuple(leak.place[name] for name in _SETTING), []).append(leak)
    if not settings:
        return None
    places = [{name: group[0].place[name] for name in _SETTING} for group in settings.values()]
    names = words.varying(places, always=("batch_size", "defense"))
    promised: dict[tuple[Coordinate, ...], list[Promise]] = {}
    for entry in summary.privacy:
        promised.setdefault(tuple(getattr(entry, name) for name in _TRAINED), []).append(entry)
    lines = []
    for place, group in zip(places, settings.values(), strict=True):
        promises = promised.get(tuple(place[name] for name in _TRAINED), [])
        lines.append(_line(words.label(place, names), group, promises))
    return Defences(tuple(lines), " ".join(summary.threat_model.adversary))


def _line(label: str, leaks: Sequence[Leak], promises: Sequence[Promise]) -> DefenceLine:
    knowing = [leak for leak in leaks if _is_adaptive(leak)]
    blind = [leak for leak in leaks if not _is_adaptive(leak)]
    naive, adaptive = _best(blind), _best(knowing)
    guess = next((leak.best_guess for leak in (naive, adaptive) if leak is not None), None)
    read = [None if leak is None else leak.accuracy for leak in (naive, adaptive)]
    verdict = judge(read[0], read[1], guess)
    why = ""
    if verdict is Defended.NOT_TESTED:
        why = "too few updates" if adaptive else ("the adaptive attack failed" if knowing else "adaptive was not run")
    return DefenceLine(
        label=label,
        naive=read[0],
        naive_name=str(naive.place["attack"]) if naive else "",
        adaptive=read[1],
        guess=guess,
        verdict=verdict,
        why=why,
        bound=_bound(leaks, promises),
    )


def _bound(leaks: Sequence[Leak], promises: Sequence[Promise]) -> RowBound | None:
    """By the largest epsilon of a client, from the chance at which a row is guessed exactly.

    That chance is the highest that fits the rows which the best guess got (95 %). The rows that are scored are those
    behind an update. Where epsilon counts on not knowing them, the chance of naming a row that is among them is at
    most the bound over the chance that it is.
    """
    scored = [leak for leak in leaks if leak.measured and leak.result.rows]
    if not scored or not promises:
        return None
    best = max(scored, key=lambda leak: leak.result.rows_exact / leak.result.rows)
    result, epsilons = best.result, [promise.epsilon for promise in promises]
    epsilon = max(math.inf if each is None else each for each in epsilons)
    guess = max(share_bounds(leak.result.rows_guessed, leak.result.rows)[1] for leak in scored)
    most = reconstruction_bound(guess, epsilon, max(promise.delta for promise in promises))
    if str(best.place["defense"]).partition(":")[0] in _SAMPLED:
        most = min(1.0, most / min(promise.sampling_rate for promise in promises))
    exact = result.judged.get("exact")
    above = exact is not None and exact.low is not None and exact.low > most
    return RowBound(read=result.rows_exact / result.rows, most=most, above=above)


def _is_adaptive(leak: Leak) -> bool:
    return str(leak.place["attack"]).partition(":")[0] == ADAPTIVE


def _best(leaks: Sequence[Leak]) -> Leak | None:
    """The attack that read most cells, of those that gave something to score."""
    shares = {leak.accuracy.mean: leak for leak in leaks if leak.accuracy is not None}
    return shares[max(shares)] if shares else None


SECTION: Section[RowsSummary] = Section(
    name="defences",
    title="Which defences held?",
    short="Defences",
    studies=(RowsSummary,),
    place=63,
    view=defences,
)
