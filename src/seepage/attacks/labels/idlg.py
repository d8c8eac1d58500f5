"""The label of a single row, from the sign of the last layer's gradient (iDLG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import Outcome, Streams
from seepage.attacks.labels.head import Head, read_class_head
from seepage.attacks.labels.restored import Restored, not_applicable
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class IDLG:
    r"""A batch of one shows its label in a sign.

    With cross-entropy the residual of class k is :math:`r_k = p_k - [y = k]`. Probabilities lie in (0, 1), so exactly
    one entry of :math:`G_b = r` is negative: the label's. With one logit :math:`G_b < 0` says class 1.

    A layer without bias still has :math:`G_W = r h^\top`, whose rows have the inner products
    :math:`r_j r_k \lVert h \rVert^2`: the label's row is the one with negative products with all others. With three
    classes or more that is exact, whatever the signs of h; with two classes the rows mirror each other.

    Guarantees:
        ``exact`` answers are right whenever the update is that of one row, undefended: also for many FedAvg steps on
        that row, because the sign is the same in every step, and under dropout.

    Example:
        >>> IDLG()([], Streams(0))
        []

    References:
        Zhao, Mopuri and Bilen, iDLG: Improved Deep Leakage from Gradients, 2020 (arXiv 2001.02610).
    """

    def __call__(self, observations: Sequence[Observation], streams: Streams) -> list[Restored]:
        return [self._restore(observation) for observation in observations]

    def _restore(self, observation: Observation) -> Restored:
        rows = observation.exchange.rows
        if rows != 1:
            return not_applicable(f"iDLG reads the label of a batch of one row; this update has {rows}.")
        head = read_class_head(observation)
        if isinstance(head, str):
            return not_applicable(head)
        label = lone_label(head)
        if label is None:
            return not_applicable("The last layer has no bias and fewer than three outputs: its signs say nothing.")
        return Restored(
            outcome=Outcome.OK, labels=torch.tensor([label]), exact=True, note="Read from the sign of the last layer."
        )


def lone_label(head: Head) -> int | None:
    """The class of the only row, or None where the layer does not tell."""
    if head.bias_gradient is not None:
        # NOTE[DIFF] the paper reads the weights, for nets whose last layer may have no bias; the bias needs no
        # assumption about the embedding.
        if head.outputs == 1:
            return int(head.bias_gradient[0] < 0)
        return int(head.bias_gradient.argmin())
    if head.outputs < 3:
        return None
    products: Tensor = head.weight_gradient @ head.weight_gradient.T
    # r_j r_k |h|^2 is negative between the label and every other class, and positive between two others.
    return int((products < 0).sum(1).argmax())
