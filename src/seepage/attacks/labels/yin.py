"""Labels of a batch without repeats, from the columns' minima (GradInversion)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seepage._core import Outcome, Streams
from seepage.attacks.labels.head import estimate_note, read_class_head
from seepage.attacks.labels.restored import Restored, not_applicable
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Yin:
    r"""The classes whose row of the last layer's weight gradient reaches furthest below zero.

    Entry (k, j) of the mean weight gradient is :math:`\tfrac1B \sum_i r_{ik} h_{ij}`. Behind a ReLU h is not negative,
    so only rows of class k pull entry k down. The B classes with the smallest

    .. math:: \min_j \, G_{W, kj}

    are taken, each once. A batch that holds a class twice loses one label for it.

    It needs at most as many rows as classes. With one row it is a label; on a binary table with two rows it can only
    answer "one of each". :class:`~seepage.attacks.labels.Counts` has no such limit.

    Example:
        >>> Yin()([], Streams(0))
        []

    References:
        Yin et al., See through Gradients: Image Batch Recovery via GradInversion, CVPR 2021.
    """

    def __call__(self, observations: Sequence[Observation], streams: Streams) -> list[Restored]:
        return [self._restore(observation) for observation in observations]

    def _restore(self, observation: Observation) -> Restored:
        head, rows = read_class_head(observation), observation.exchange.rows
        if isinstance(head, str):
            return not_applicable(head)
        if rows > head.classes:
            return not_applicable(f"Yin et al. need at most as many rows as classes; {rows} rows, {head.classes}.")
        gradient = head.weight_gradient
        if head.outputs == 1:
            # NOTE[DIFF] one logit is a softmax over (0, z): the row of class 0 is the mirror image.
            gradient = torch.cat([-gradient, gradient])
        labels = gradient.min(dim=1).values.argsort(stable=True)[:rows].sort().values
        return Restored(
            outcome=Outcome.OK,
            labels=labels,
            note="Each class is claimed at most once; embeddings are taken to be positive." + estimate_note(head),
        )
