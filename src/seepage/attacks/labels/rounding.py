"""From a mean residual to fractional counts, to whole counts, to labels."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.attacks.labels.head import Head


def solved_counts(head: Head, residual: Tensor, z: Tensor, rows: int) -> Tensor:
    r"""(classes,) fractional counts that explain a mean residual, if all rows answer like the mean of these outputs.

    The mean residual is :math:`\sum_c f_c m_c` with the share :math:`f_c` of class c in the gradient and the mean
    residual :math:`m_c` it would have. For softmax :math:`f = \bar p - r`; for one logit
    :math:`f_1 = (r - m_0) / (m_1 - m_0)`. The loss' class weights are then divided out.

    Args:
        residual: (outputs,) the mean residual of the batch.
        z: (draws, outputs) outputs of rows like those of the batch.
    """
    if head.outputs == 1:
        means = head.residuals(z[:, None]).mean(0)[:, 0]
        positive = (residual[0] - means[0]) / (means[1] - means[0])
        return rows * torch.stack([1 - positive, positive])
    shares = (z.softmax(-1).mean(0) - residual) / head.class_weights
    return rows * shares / shares.sum()


def whole_counts(counts: Tensor, rows: int) -> Tensor:
    """(classes,) whole counts that sum to ``rows``: the fractions projected on the simplex, largest remainders first.

    Example:
        >>> whole_counts(torch.tensor([-0.3, 5.6, 2.9]), 8).tolist()
        [0, 5, 3]
    """
    counts = counts.double()
    # Euclidean projection on {n >= 0, sum n = rows}: subtract one number from all, cut at zero.
    ordered = counts.sort(descending=True).values
    excess = (ordered.cumsum(0) - rows) / torch.arange(1, len(counts) + 1)
    level = excess[int((ordered > excess).sum()) - 1]
    share = (counts - level).clamp(min=0)
    whole = share.floor()
    missing = round(rows - float(whole.sum()))
    whole[(share - whole).argsort(descending=True, stable=True)[:missing]] += 1
    return whole.long()


def labels_of(counts: Tensor) -> Tensor:
    """(rows,) class codes in ascending order."""
    return torch.repeat_interleave(torch.arange(len(counts)), counts)
