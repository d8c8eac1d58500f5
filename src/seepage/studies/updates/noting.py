"""What a capture says of its updates, kept beside what was read from them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from seepage.captures.reading import SAID
from seepage.federation import Truth
from seepage.observation import Observation
from seepage.results.updates import CapturedUpdate, Framework
from seepage.studies.study import Found
from seepage.studies.updates.checking import doubts_about
from seepage.studies.updates.observing import why_not
from seepage.studies.updates.source import CapturedUpdates, Case


def note_updates(
    found: Found, source: CapturedUpdates, case: Case, observations: Sequence[Observation], truth: Truth | None
) -> None:
    """What the capture says of each update, and what looks wrong about it."""
    framework = source.capture.framework
    if framework is not None and "framework" not in found.facts:
        found.note("framework", Framework(name=framework.name, version=framework.version))
    for entry, observation in zip(case.entries, observations, strict=True):
        doubts = doubts_about(source, entry, observation, truth)
        for sentence in doubts:
            warnings.warn(sentence, stacklevel=2)
        found.note(
            "updates",
            CapturedUpdate(
                client=entry.client,
                round=entry.round,
                sent=SAID[entry.kind],
                facts=entry.facts.model_dump(),
                norm=_norm(observation),
                weights=sum(value.numel() for value in observation.update.values()),
                first_tensor=next(iter(observation.update), ""),
                why_not=why_not(case, "exact"),
                warnings=tuple(doubts),
            ),
        )


def _norm(observation: Observation) -> float:
    """How long an update is, over all weights."""
    return float(np.sqrt(sum(float((value.double() ** 2).sum()) for value in observation.update.values())))
