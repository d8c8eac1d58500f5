"""Which defences held: an attacker who is blind to them beside one who knows their settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage.report import words
from seepage.report.leaks import Leak, leaks_of
from seepage.report.section import Section
from seepage.results import Interval
from seepage.results.defended import ADAPTIVE, Defended, judge
from seepage.results.rows import RowsSummary

_SETTING = ("dataset", "protocol", "model", "batch_size", "defense", "attack_point", "watched", "variant")


@dataclass(frozen=True, kw_only=True)
class DefenceLine:
    """One defended setting. An attack that was not run, or gave nothing to score, has no number."""

    label: str
    naive: Interval | None
    naive_name: str
    adaptive: Interval | None
    guess: Interval | None
    verdict: Defended
    why: str

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
    lines = [_line(words.label(place, names), group) for place, group in zip(places, settings.values(), strict=True)]
    return Defences(tuple(lines), " ".join(summary.threat_model.adversary))


def _line(label: str, leaks: Sequence[Leak]) -> DefenceLine:
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
    )


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
