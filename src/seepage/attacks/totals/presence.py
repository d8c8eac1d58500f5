"""Which categories occur behind an update, and which do not: at any number of rows, for any optimiser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.attack import Together, useless
from seepage.attacks.exact.presence import CLEAR, presence_of
from seepage.attacks.totals.silence import entrance_of, silent_categories
from seepage.observation import Claim, Observation, Scene, Tally


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Lists the categories that somebody has, and those that nobody has.

    Weights of a category that nobody has are at rest, and all others are not (``totals/silence.py``). Where a defence
    covers the update, signals are compared with its error (``exact/presence.py``), as far as it is a gradient.

    References:
        ``docs/explanation/exact-inversion.md``.

    Example:
        >>> Listing()
        Listing()
    """

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        """An attacker that takes one update after the other."""
        if not scene.space.layout.sizes:
            raise NotApplicable("There are no categorical columns, so no category can be present or absent.")
        return Together(lambda seen: [listed(each) for each in seen])


def listed(observation: Observation) -> Claim:
    """The claim on one update."""
    if not observation.finite:
        return useless()
    present, visible = present_categories(observation)
    known = sum(int((each >= 0).sum()) for each in present)
    if not known:
        return Claim(
            outcome=Outcome.NOT_APPLICABLE, note="No category can be told from the noise of the update, or is at rest."
        )
    return Claim(outcome=Outcome.OK, tally=Tally(present=tuple(present), visible=visible))


def present_categories(observation: Observation) -> tuple[Sequence[np.ndarray], float | None]:
    """For each column (categories,) 1, 0 or -1; and from how many rows on a category is seen."""
    if not observation.exchange.covered and not observation.space.standardised:
        return silent_categories(observation, entrance_of(observation)), 1.0
    read = presence_of(observation)
    if not read.readable:
        raise NotApplicable("Categories are mixed before they reach a layer, so none can be told.")
    last = -1 if observation.layout.embedded else None
    states = [np.asarray(state[:last], dtype=int) for state in read.states]
    margins = np.concatenate([margin[:last] for margin in read.margins])
    loud = margins[margins > CLEAR]
    # A category is seen from the rows that lift its signal to CLEAR errors; a usual row lifts it by its share.
    share = float(np.median(margins)) / observation.exchange.rows * len(states)
    return states, (max(1.0, math.ceil(CLEAR / share)) if len(loud) and share > 0 else None)
