"""All parties of many federations of one shape, their rows, and what their trainings have come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seepage._core.names import HOST
from seepage.federation.vertical.messages import Phase
from seepage.federation.vertical.schedule import Epoch, History, Training
from seepage.federation.vertical.stacked_designs import StackedDesign
from seepage.federation.vertical.stacked_party import StackedLearning
from seepage.federation.vertical.stacked_rows import StackedCache, StackedMasks, StackedRows
from seepage.federation.vertical.training import Federation

Split = tuple[np.ndarray, np.ndarray]  # rows to train on, rows to validate on


class StackedRuns:
    """All parties of all runs, their rows, and what they have come to."""

    def __init__(self, federations: Sequence[Federation], splits: Sequence[Split], design: StackedDesign) -> None:
        self.federations, self.design = federations, design
        self.training: Training = federations[0].training
        self.guests = tuple(federations[0].rows.names)
        self.local = federations[0].design.local
        self.histories = [History() for _ in federations]
        self.finished: list[Phase] = []
        rate, clip = self.training.rate, self.training.clip
        self.host = StackedLearning([each.host.learning for each in federations], rate, clip)
        self.parties = [
            StackedLearning([each.guests[place].learning for each in federations], rate, clip)
            for place in range(len(self.guests))
        ]
        kinds = range(2)  # training rows, validation rows
        indices = [[torch.from_numpy(np.asarray(split[kind])) for split in splits] for kind in kinds]
        self.counts = [len(indices[kind][0]) for kind in kinds]
        self.labels = [_rows(indices[kind], [each.rows.labels for each in federations]) for kind in kinds]
        self.columns = [
            [_rows(indices[kind], [each.rows.columns[place] for each in federations]) for kind in kinds]
            for place in range(len(self.guests))
        ]
        self.masks = [
            StackedMasks(
                [each.guests[place].streams for each in federations], name, columns.shape[1], self.training.hidden
            )
            for place, (name, columns) in enumerate(zip(self.guests, federations[0].rows.columns, strict=True))
        ]
        self.caches: list[list[StackedCache]] = []
        self.objective = federations[0].rows.objective

    def begin(self, phase: Phase) -> None:
        """A fresh optimiser for everybody, and caches for what guests send in this phase."""
        for party in (self.host, *self.parties):
            party.restart()
        self.caches = self._empty(phase)

    def _empty(self, phase: Phase) -> list[list[StackedCache]]:
        used = torch.tensor(
            [each.failures.probability > 0 and each.failures.method != "zeros" for each in self.federations]
        )
        masked = phase == Phase.PRETRAINING and self.design.needs_masks
        return [
            [
                StackedCache(used, count, self.design.value_width(place, phase), masks=masked and not kind)
                for kind, count in enumerate(self.counts)
            ]
            for place in range(len(self.guests))
        ]

    def epochs(self, phase: Phase) -> int:
        """How many the run that trained longest has behind it."""
        return max(len(history.of(phase)) for history in self.histories)

    def alive(self, phase: Phase, patience: int) -> Tensor:
        """The runs that still train."""
        return torch.tensor(
            [
                run
                for run, history in enumerate(self.histories)
                if not history.of(phase) or not history.stopped(phase, patience)
            ],
            dtype=torch.long,
        )

    def best(self, run: int, phase: Phase) -> int:
        """The number of a run's best epoch."""
        best = self.histories[run].best(phase)
        assert best is not None
        return best.number

    def remember(self, runs: Tensor) -> None:
        for party in (self.host, *self.parties):
            party.remember(runs)

    def recall(self) -> None:
        for party in (self.host, *self.parties):
            party.recall()

    def state(self) -> dict[str, dict[str, Tensor]]:
        """To save."""
        kept = {
            f"{place}.{kind}.{name}": tensor
            for place, caches in enumerate(self.caches)
            for kind, cache in enumerate(caches)
            for name, tensor in (("values", cache.values), ("masks", cache.masks))
        }
        parties = {f"guest {place}": party.state() for place, party in enumerate(self.parties)}
        return {HOST: self.host.state(), **parties, "caches": kept}

    def facts(self) -> dict[str, Any]:
        """To save beside it."""
        return {
            "epochs": [[asdict(each) for each in history.epochs] for history in self.histories],
            "finished": [phase.value for phase in self.finished],
        }

    def restore(self, states: Mapping[str, dict[str, Tensor]], facts: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.histories = [
            History([Epoch(**(each | {"absent": tuple(each["absent"])})) for each in epochs])
            for epochs in facts["epochs"]
        ]
        self.finished = [Phase(value) for value in facts["finished"]]
        self.host.restore(states[HOST])
        for place, party in enumerate(self.parties):
            party.restore(states[f"guest {place}"])
        self.caches = self._empty(Phase(self.histories[0].epochs[-1].phase))
        for place, caches in enumerate(self.caches):
            for kind, cache in enumerate(caches):
                cache.values = states["caches"][f"{place}.{kind}.values"]
                cache.masks = states["caches"][f"{place}.{kind}.masks"]

    def give_back(self) -> None:
        """Every federation has its weights and its history."""
        for party in (self.host, *self.parties):
            party.give_back()
        for federation, history in zip(self.federations, self.histories, strict=True):
            federation.history.epochs.extend(history.epochs)


def _rows(indices: Sequence[Tensor], tensors: Sequence[Tensor]) -> StackedRows:
    return StackedRows([tensor[index] for tensor, index in zip(tensors, indices, strict=True)])
