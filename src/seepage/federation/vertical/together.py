"""Trains many vertical federations of one shape at once, as each would train alone.

A step of one small federation is a few thousand tiny operations, and a processor spends it between them. A study of
absent guests trains one model dozens of times: with all of them in every operation, a training costs a fraction. This
is a simulation: all parties of all runs are in one process, and no message is made, so nothing is counted that crosses.
What the runs have in common is their shape and settings; rows, seeds and who is absent are each run's own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import torch

from seepage._core import InputError, Progress, silent
from seepage.federation.vertical.messages import PartyError, Phase
from seepage.federation.vertical.schedule import Epoch
from seepage.federation.vertical.stacked_designs import stacked_design
from seepage.federation.vertical.stacked_epoch import StackedEpoch
from seepage.federation.vertical.stacked_runs import Split, StackedRuns
from seepage.federation.vertical.state import Checkpoint
from seepage.federation.vertical.training import Federation

BETWEEN = 60.0  # seconds from one saved state to the next


def shape_of(federation: Federation, split: Split) -> tuple[object, ...]:
    """Federations with equal ones can be trained together."""
    rows = federation.rows
    widths = tuple(each.shape[1] for each in rows.columns)
    weighted = rows.objective.weights is not None
    shape = (federation.design, federation.parts, federation.training, tuple(rows.names), widths, rows.classes)
    return (*shape, rows.objective.classifies, weighted, len(split[0]), len(split[1]))


def train_together(
    federations: Sequence[Federation],
    splits: Sequence[Split],
    *,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> None:
    """Train all of them; each has its weights and its history afterwards.

    Args:
        federations: of one :func:`shape_of`, none of them trained yet.
        splits: the rows of each.
        checkpoint: where the state of all is saved; one that is there is continued.

    Guarantees:
        Weights, losses and stopping are those of :meth:`Federation.fit` for each alone, to within float32's rounding,
        which epochs enlarge. What crosses is not counted, and seconds are those of all runs over their number.
    """
    shapes = {shape_of(*each) for each in zip(federations, splits, strict=True)}
    if len(shapes) != 1:
        raise InputError(f"Federations of {len(shapes)} shapes cannot be trained together.")
    training, first = federations[0].training, federations[0]
    design = stacked_design(first.design, first.parts, [each.shape[1] for each in first.rows.columns])
    if training.defense is not None or design is None or first.rows.objective.weights is not None:
        raise InputError("Federations with a defence, with weighted rows or of another design train one by one.")
    if any(federation.history.epochs for federation in federations):
        raise InputError("A federation that was trained before cannot be trained together with others.")
    runs = StackedRuns(federations, splits, design)
    saves = _Saves(runs, checkpoint)
    for phase, limit in ((Phase.PRETRAINING, training.pretraining), (Phase.FINETUNING, training.finetuning)):
        if limit and phase not in runs.finished:
            _train_phase(runs, phase, limit, saves, progress)
    runs.give_back()


def _train_phase(runs: StackedRuns, phase: Phase, limit: int, saves: _Saves, progress: Progress) -> None:
    if runs.epochs(phase) == 0:
        runs.begin(phase)
    patience, whole = runs.training.patience, len(runs.federations)
    while (epoch := runs.epochs(phase)) < limit and len(alive := runs.alive(phase, patience)):
        begin = time.perf_counter()
        passed = StackedEpoch(runs, phase, epoch, alive)
        losses = passed.training()
        validations = passed.validation()
        seconds = (time.perf_counter() - begin) / len(alive)
        for run, loss, validation in zip(alive.tolist(), losses, validations, strict=True):
            for value in (loss, validation):
                if not np.isfinite(value):
                    raise PartyError(f"The loss of run {run + 1} is {value} in epoch {epoch + 1}: training diverged.")
            absent = tuple(sorted(passed.absent[run]))
            runs.histories[run].epochs.append(Epoch(phase.value, epoch, loss, validation, seconds, absent))
        if patience:
            runs.remember(torch.tensor([run for run in alive.tolist() if runs.best(run, phase) == epoch]).long())
        saves.now_and_then()
        progress(phase.value, epoch + 1, limit, f"{len(alive)} of {whole} runs, {seconds:.2f} s each")
    runs.recall()
    runs.finished.append(phase)
    saves.save()


class _Saves:
    """Keeps the state of all runs, once in a while: an epoch may take less time than writing it."""

    def __init__(self, runs: StackedRuns, checkpoint: Checkpoint | None) -> None:
        self._runs, self._checkpoint = runs, checkpoint
        self._last, self._number = time.monotonic(), 0
        if checkpoint is not None and (found := checkpoint.load(list(runs.state()))) is not None:
            states, facts = found
            self._number = int(facts["state"])
            runs.restore(states, facts)

    def now_and_then(self) -> None:
        if time.monotonic() - self._last > BETWEEN:
            self.save()

    def save(self) -> None:
        if self._checkpoint is not None:
            self._number += 1
            self._checkpoint.save(self._number, self._runs.state(), self._runs.facts())
        self._last = time.monotonic()
