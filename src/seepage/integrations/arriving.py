"""Looks at a model that arrived before the client trains on it: is it one that training makes?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage.captures import Tensors
from seepage.defenses.received import check_received
from seepage.integrations.looking import OwnUpdates
from seepage.models import Parameters


@dataclass(eq=False)
class ArrivedWeights:
    """The checks of ``seepage.defenses.received`` for one client; it remembers the weights of the round before.

    Args:
        own: what the client knows: the agreed model, and its rows, if the guard was given them.
        before: the weights that arrived last.
    """

    own: OwnUpdates
    before: Parameters | None = None

    def __call__(self, model: Tensors) -> str:
        """What is wrong with the model, in a sentence; empty if nothing was found."""
        learner = self.own.parts[1]
        buffers = learner.module.state_dict().keys() - learner.initial().keys()
        sent = {
            name: torch.from_numpy(np.array(value, dtype=np.float32))
            for name, value in model.items()
            if name not in buffers or name in learner.buffers()
        }
        findings = check_received(learner, sent, before=self.before, rows=self._rows())
        if not findings:  # a model that was refused is none to compare the next one with
            self.before = sent
        return " ".join(each.sentence for each in findings).rstrip(".")

    def _rows(self) -> Tensor | None:
        """The client's own rows, encoded with their own statistics."""
        table = self.own.table_of_rows
        if table is None:
            return None
        encoder = self.own.parts[0]
        return torch.from_numpy(encoder.encode(table, encoder.statistics(table)))
