"""Rows drawn so that a property has a given share, or a column a given mean."""

from __future__ import annotations

import math

import numpy as np

from seepage._core import InputError


def draw(values: np.ndarray, share: float, count: int, generator: np.random.Generator) -> np.ndarray:
    """Rows of which a given share has the property, or whose mean is a given number.

    Args:
        values: (rows,) of the pool, from :meth:`Property.values`.
        share: of the drawn rows; of a mean the mean.
        count: how many rows.
        generator: for which rows, and for their order.

    Returns:
        (count,) different row numbers in random order. Exactly ``round(share * count)`` have the property. For a mean,
        rows above and below the median are mixed in the proportion that comes nearest.
    """
    check_varies(values)
    if not math.isfinite(share):
        raise InputError(f"The share is {share}; it must be a number.")
    if not 1 <= count <= len(values):
        raise InputError(f"{count} rows cannot be drawn from a pool of {len(values)}.")
    chosen = _with_share if values.dtype == np.bool_ else _with_mean
    return generator.permutation(chosen(values, share, count, generator))


def rebalance(holds: np.ndarray, share: float, count: int, generator: np.random.Generator) -> np.ndarray:
    """Places of ``count`` rows of which ``share`` has the property, whatever share there is.

    Where there are too few rows of a kind, each of them is taken equally often, give or take one; where there is none,
    the other kind is taken alone.

    Args:
        holds: (rows,) which of the rows there are have the property.
        share: of the rows taken.
        count: how many are taken.
        generator: for which rows, and for their order.
    """
    having, lacking = np.flatnonzero(holds), np.flatnonzero(~holds)
    wanted = round(share * count) if len(having) and len(lacking) else (count if len(having) else 0)
    taken = [np.resize(generator.permutation(kind), n) for kind, n in ((having, wanted), (lacking, count - wanted))]
    return generator.permutation(np.concatenate(taken))


def check_varies(values: np.ndarray) -> None:
    """Stop when all rows are alike: there is no other share to draw."""
    if len(values) == 0:
        raise InputError("The pool has no rows.")
    if values.min() != values.max():
        return
    if values.dtype != np.bool_:
        raise InputError(f"The column is {values[0]:g} in every row of the pool; choose one whose mean can differ.")
    found = "Every row" if values[0] else "No row"
    raise InputError(f"{found} of the pool has the property; choose one that some rows have and others do not.")


def possible_shares(values: np.ndarray, count: int) -> tuple[float, float]:
    """The smallest and the largest share that ``count`` rows of the pool can have; of a mean the same."""
    if values.dtype == np.bool_:
        having = int(values.sum())
        return max(0, count - (len(values) - having)) / count, min(having, count) / count
    low, high = _halves(values)
    fewest, most = max(0, count - len(high)), min(count, len(low))  # rows from below the median
    below, above = values[low].mean(), values[high].mean()
    smallest, largest = ((taken * below + (count - taken) * above) / count for taken in (most, fewest))
    return float(smallest), float(largest)


def _with_share(holds: np.ndarray, share: float, count: int, generator: np.random.Generator) -> np.ndarray:
    having = round(share * count)
    smallest, largest = possible_shares(holds, count)
    if not smallest <= having / count <= largest:
        kind, limit = ("largest", largest) if having / count > largest else ("smallest", smallest)
        raise InputError(
            f"A share of {share:g} in {count} rows cannot be drawn: {int(holds.sum())} of the pool's {len(holds)} rows "
            f"have the property, so the {kind} possible share is {limit:.4g}."
        )
    with_it = generator.choice(np.flatnonzero(holds), having, replace=False, shuffle=False)
    without = generator.choice(np.flatnonzero(~holds), count - having, replace=False, shuffle=False)
    return np.concatenate([with_it, without])


def _with_mean(values: np.ndarray, mean: float, count: int, generator: np.random.Generator) -> np.ndarray:
    low, high = (generator.permutation(half) for half in _halves(values))
    below = np.arange(max(0, count - len(high)), min(count, len(low)) + 1)
    sums = [np.concatenate([[0.0], np.cumsum(values[half])]) for half in (low, high)]
    means = (sums[0][below] + sums[1][count - below]) / count
    nearest = int(np.abs(means - mean).argmin())
    # What the exchange of one row can change; at the ends of the range, where nothing is left to exchange, chance.
    near = np.ptp(values) / count + 4 * values.std() / np.sqrt(count)
    if abs(means[nearest] - mean) > near:
        smallest, largest = possible_shares(values, count)
        raise InputError(
            f"A mean of {mean:g} in {count} rows cannot be drawn from this pool; about {smallest:.4g} to {largest:.4g} "
            "can."
        )
    taken = int(below[nearest])
    return np.concatenate([low[:taken], high[: count - taken]])


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows below and above the median. Where half of the cells are alike (no capital gains) it is not in the middle."""
    middle = np.median(values)
    upper = values > middle if (values > middle).any() else values >= middle
    return np.flatnonzero(~upper), np.flatnonzero(upper)
