"""Rounds of a captured client that are read as one: each update with those that the client sent before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seepage._core import InputError
from seepage.data import Encoder
from seepage.models import Learner
from seepage.observation import Observation
from seepage.studies.updates.observing import observations_of
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.updates.source import CapturedUpdates, Case


def joined_case(case: Case, many: int) -> Case | None:
    """The updates that have enough others before them; None if none has."""
    entries = case.entries[max(0, many - 1 - len(case.earlier)) :]
    return replace(case, entries=entries) if entries else None


def joined_observations(
    source: CapturedUpdates,
    settings: UpdatesSettings,
    case: Case,
    encoder: Encoder,
    learner: Learner,
    own: Sequence[Observation],
    many: int,
) -> list[Observation]:
    """The updates of a case that have enough before them, each with those of the rounds before."""
    if many == 1:
        return list(own)
    before = replace(case, entries=case.earlier, earlier=())
    every = [*observations_of(source, settings, before, encoder, learner), *own] if case.earlier else [*own]
    ends = range(max(many, len(case.earlier) + 1), len(every) + 1)
    return [replace(every[end - 1], earlier=tuple(every[end - many : end - 1])) for end in ends]


def check_join(source: CapturedUpdates, settings: UpdatesSettings) -> None:
    """Stop with a sentence if nobody sent as many updates as are to be joined; a capture that grows may get them."""
    if settings.each_round:
        return
    longest = max(len(case.earlier) + len(case.entries) for case in source.cases)
    if max(settings.join) > longest:
        raise InputError(
            f"{max(settings.join)} rounds are to be joined (--join), but no client of the capture sent more than "
            f"{longest} by the same rules."
        )
