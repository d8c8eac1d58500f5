"""The attack on more rows than any layer is wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent, under
from seepage.attacks.attack import Together, check_least, useless
from seepage.attacks.exact.case import Case
from seepage.attacks.exact.settling import classes
from seepage.attacks.exact.view import View, codes_of, usable_layers
from seepage.attacks.inversion import fast
from seepage.attacks.pursuit.atoms import Atoms, labelled
from seepage.attacks.pursuit.choosing import choose
from seepage.attacks.pursuit.measuring import Measurements
from seepage.observation import Claim, Observation, Scene


@dataclass(frozen=True, kw_only=True)
class Pursuit:
    """Choose rows out of all that many optimisations end at, by what all rounds sent together.

    Where every layer is used up, no row can be tested alone. But what was sent is still a sum of the rows' own
    gradients: some twenty thousand numbers a round, against a few hundred rows' cells. The optimiser's rows are wrong
    as a set; yet for nine rows of ten some restart has all categories right. So the right ones are chosen, moved, and
    their neighbours tried (``choosing.py``). Nothing of it is proven.

    Args:
        steps: of each optimisation.
        restarts: of all rounds together.
        turns: how often neighbours are tried.
        compile: as in :class:`Inversion`.

    References:
        Denoyelle, Duval, Peyre and Soubies, The sliding Frank-Wolfe algorithm, 2019, for the steps of the choice.

    Example:
        >>> Pursuit(restarts=20).turns
        4
    """

    steps: int = 500
    restarts: int = 50
    turns: int = 4
    compile: Literal["no", "yes", "auto"] = "auto"

    def __post_init__(self) -> None:
        check_least(self, steps=1, restarts=1, turns=1)

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        """One update, or one client's rounds, after the other."""
        return Together(partial(self, streams=streams, progress=progress))

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]:
        return [
            self._one(each, streams.child(place), under(f"update {place + 1} of {len(observations)}", progress))
            for place, each in enumerate(observations)
        ]

    def _one(self, observation: Observation, streams: Streams, progress: Progress) -> Claim:
        if not observation.finite:
            return useless()
        view = _view(observation)
        rows = torch.cat([torch.from_numpy(each) for each in self._pool(observation, streams, progress)]).double()
        numbers = rows[:, : view.numeric].clamp(view.low, view.high)
        drawn = torch.Generator().manual_seed(streams.integer("measured"))
        atoms, left = choose(
            Measurements.of(view, observation.rounds, drawn),
            labelled(codes_of(view.space.layout, rows), numbers, classes(view)),
            self.turns,
            drawn,
            lambda turn: progress("choosing", turn + 1, self.turns),
        )
        return _claim(observation, view, atoms, left)

    def _pool(self, observation: Observation, streams: Streams, progress: Progress) -> list[np.ndarray]:
        """(restarts x rows, width) for each round: all that optimisations of it end at."""
        rounds = observation.rounds
        engine = replace(fast(), steps=self.steps, restarts=max(1, self.restarts // len(rounds)), compile=self.compile)
        found = []
        for number, each in enumerate(rounds):
            (runs,) = engine.runs([each], streams.child("round", number), progress=progress)
            alive = np.isfinite(runs.losses) & np.isfinite(runs.rows).all((1, 2))
            found.append(runs.rows[alive].reshape(-1, runs.rows.shape[-1]))
        return found


def _view(observation: Observation) -> View:
    """How rows are laid out, if each of them has a gradient of its own that can be computed."""
    if observation.learner.task == "regression":
        raise NotApplicable("Rows are chosen with each label that they can have, and a number has too many.")
    view = Case(observation).view
    if not view.peelable or not usable_layers(view.plain, observation.layout.width):
        raise NotApplicable(
            "Rows are chosen by their own gradients, which need one local step and a model of linear layers that mixes "
            "no rows."
        )
    return view


def _claim(observation: Observation, view: View, atoms: Atoms, left: float) -> Claim:
    rows: Tensor = view.rows_of(atoms.codes, atoms.numbers)
    missing = observation.exchange.rows - len(rows)
    if missing:  # fewer different rows explain it: the heaviest are taken twice
        rows = torch.cat([rows, rows[torch.arange(missing) % len(rows)]])
    return Claim(
        outcome=Outcome.BUDGET_SPENT,
        rows=rows.float().numpy(),
        labels=None if observation.labels is not None or missing else atoms.labels.long().numpy(),
        note=f"{len(atoms)} rows were chosen over {len(observation.rounds)} round(s); {100 * left:.0f} % of what was "
        "sent, as the choice weighs it, is left.",
    )
