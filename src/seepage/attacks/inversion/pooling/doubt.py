r"""How far the restarts disagree about a cell: what an attacker can know about its answer without the truth."""

from __future__ import annotations

import numpy as np

from seepage.data import Layout

FLOOR = 1e-6  # in deviations: float32 cannot tell smaller spreads of values near one


def doubt(aligned: np.ndarray, layout: Layout, *, probabilities: bool) -> np.ndarray:
    r"""The entropy of every cell over the restarts.

    A category has the entropy of its pooled distribution :math:`\bar p` over the :math:`K` categories of its column,
    divided by the largest possible one; a number has that of a Gaussian with the restarts' sample variance
    :math:`s^2`, in nats and in the units of the model's inputs (standard deviations, with the usual encoding):

    .. math:: H^D = -\frac{1}{\log K} \sum_{k=1}^K \bar p_k \log \bar p_k
              \qquad
              H^C = \tfrac12 + \tfrac12 \log\big(2 \pi \max(s^2, \epsilon^2)\big)

    NOTE[DIFF] TabLeak's text takes :math:`\bar p` as the share of restarts that vote for a category, its public
    code as the pooled (median) soft block divided by its sum. Here it is the mean of the restarts' soft blocks: the
    median of one-hot blocks may be empty, and of the three the mean came nearest to Table 3 (one batch of 32: mean
    0.34, median 0.23, votes 0.12, published 0.40 +- 0.06). Where blocks are no distributions, votes are counted.

    Args:
        aligned: (runs, rows, width) the restarts, rows aligned, blocks in raw units.
        layout: where numbers and blocks stand. An embedding's slot for unknown categories is left out: no claim
            ever names it.
        probabilities: whether every block is a distribution over its categories.

    Returns:
        (rows, columns), numbers first, then categories: in [0, 1] for categories, 0 for a column of one category;
        for numbers from -12.4 (no spread, :math:`\epsilon = 10^{-6}`) upward. NaN where one restart is too few
        to tell: numbers, and categories without probabilities.

    Example:
        >>> runs = np.array([[[0.0, 1.0, 0.0]], [[1.0, 0.0, 1.0]]])  # a number and two categories, twice
        >>> doubt(runs, Layout(1, (2,)), probabilities=True).round(2).tolist()
        [[1.07, 1.0]]

    References:
        Vero et al., TabLeak, section 3.3.
    """
    runs = aligned.astype(np.float64)
    columns = [_of_numbers(runs[..., : layout.numeric])]
    for block in layout.blocks:
        part = runs[..., block.start : block.stop - layout.embedded]
        columns.append(_of_categories(part, probabilities)[:, None])
    return np.concatenate(columns, axis=1)


def _of_numbers(numbers: np.ndarray) -> np.ndarray:
    """(runs, rows, columns) to (rows, columns)."""
    if len(numbers) < 2:
        return np.full(numbers.shape[1:], np.nan)
    spread = np.maximum(numbers.std(0, ddof=1), FLOOR)
    entropy: np.ndarray = 0.5 + 0.5 * np.log(2 * np.pi * spread**2)
    return entropy


def _of_categories(blocks: np.ndarray, probabilities: bool) -> np.ndarray:
    """(runs, rows, categories) to (rows,)."""
    runs, rows, categories = blocks.shape
    if categories < 2:
        return np.zeros(rows)
    if not probabilities:
        if runs < 2:
            return np.full(rows, np.nan)
        blocks = np.eye(categories)[blocks.argmax(-1)]
    pooled = np.maximum(blocks.mean(0), 1e-12)  # an empty block, all of it in the unknown slot, knows nothing
    pooled /= pooled.sum(-1, keepdims=True)
    entropy: np.ndarray = -(pooled * np.log(pooled)).sum(-1) / np.log(categories)
    return entropy.clip(0, 1)
