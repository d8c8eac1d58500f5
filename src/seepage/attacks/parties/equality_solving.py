"""The host has the guest's weights and solves the guest's own equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages, nothing_alone
from seepage.observation import Claim
from seepage.observation.parties import HostScene, Received, averaged, times_sent

BENT = 1e-3  # of a linear map's values; a map that errs more is not linear


@dataclass(frozen=True, kw_only=True)
class EqualitySolving:
    r"""Solve :math:`z = A x + b` for the columns :math:`x` of every row.

    Needs intermediate results after training and the weights of the guest's part, which must be linear: as when a
    trained model is handed over, or weights are drawn from a seed that others know.

    Guarantees:
        With a square layer of full rank and without noise every cell is recovered up to rounding. With noise it is the
        estimate of least squares for inputs of deviation 1.

    References:
        Luo et al., Feature Inference Attack on Model Predictions in Vertical Federated Learning, ICDE 2021, who solve
        for a logistic regression's inputs. NOTE[DIFF] they have one equation for each class, from predictions; a host
        of TabVFL is sent one for each column.

    Example:
        >>> EqualitySolving().reads
        'columns'
    """

    reads: ClassVar[Literal["columns", "labels"]] = "columns"

    def start(self, scene: HostScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""
        matrix, offset = _linear_map(scene, streams)

        def answer(seen: Sequence[Received]) -> Claim:
            z = averaged(seen, scene.rows)
            noise = scene.noise / times_sent(seen) ** 0.5
            if noise:
                square = matrix.T @ matrix + noise**2 * np.eye(matrix.shape[1])
                rows = np.linalg.solve(square, matrix.T @ (z - offset).T).T
            else:
                rows = np.linalg.lstsq(matrix, (z - offset).T, rcond=1e-6)[0].T
            return Claim(outcome=Outcome.OK, rows=rows, ordered=True)

        return Messages(answer)

    def alone(self, scene: HostScene, streams: Streams) -> Claim:
        """Nothing: weights without messages say nothing about a row."""
        return nothing_alone()


def _linear_map(scene: HostScene, streams: Streams) -> tuple[np.ndarray, np.ndarray]:
    """(outputs, inputs) and (outputs,): the guest's part, if it is linear."""
    if scene.released is None:
        raise NotApplicable("The host does not have the guest's weights.")
    width = scene.layout.width
    probe = torch.from_numpy(streams.numpy("probe").normal(size=(8, width)).astype(np.float32))
    with torch.no_grad():
        offset = scene.released.bottom(torch.zeros(1, width)).double().numpy()[0]
        matrix = scene.released.bottom(torch.eye(width)).double().numpy().T - offset[:, None]
        true = scene.released.bottom(probe).double().numpy()
    bent = np.abs(true - (probe.double().numpy() @ matrix.T + offset)).max()
    if bent > BENT * max(float(np.abs(true).max()), 1e-12):
        raise NotApplicable("The guest's part of the model is not linear, so its equations have no closed solution.")
    return matrix, offset
