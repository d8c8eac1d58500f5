"""Where a row enters a model: through a linear layer, or through tables of one row per category and per number.

Found by trial, not by the model's class: a parameter is a column's table if for a single row no other entry than
that of its category has a gradient.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from seepage.models.functional import Learner, Parameters

TRIALS = 48  # rows that are tried


@dataclass(frozen=True)
class Tokens:
    """The parameters of a model that gives every column a table of its own.

    Args:
        tables: for each categorical column the parameter of shape (categories, width).
        weight, bias: the parameters of ``x_j w_j + b_j``, the numbers' entries first; None if they enter otherwise.
        faithful: every category that occurs has a gradient. Attention that leaves columns out (TabNet) breaks this.
    """

    tables: tuple[str, ...]
    weight: str | None
    bias: str | None
    faithful: bool = True


@lru_cache(maxsize=16)
def tokens_of(learner: Learner, numeric: int, sizes: tuple[int, ...]) -> Tokens | None:
    """The tables through which rows enter, or None if the model has none."""
    parameters = learner.initial()
    x, codes = _rows(numeric, sizes)
    labels = torch.zeros(len(x), 1, dtype=torch.int64)
    slopes = learner.gradients(parameters, x[:, None], labels)  # of every row alone
    tables: list[str] = []
    for column, size in enumerate(sizes):
        fitting = (name for name, value in parameters.items() if value.dim() == 2 and len(value) == size)
        name = next(
            (name for name in fitting if name not in tables and _is_table(slopes[name], codes[:, column])), None
        )
        if name is None:
            return None
        tables.append(name)
    weight, bias = _number_tokens(parameters, slopes, x[:, :numeric], set(tables))
    if not tables and weight is None:
        return None
    rows = torch.arange(len(x))
    faithful = all(
        bool((slopes[name][rows, torch.from_numpy(codes[:, column])] != 0).any(-1).all())
        for column, name in enumerate(tables)
    )
    return Tokens(tuple(tables), weight, bias, faithful)


def _rows(numeric: int, sizes: tuple[int, ...]) -> tuple[Tensor, np.ndarray]:
    """Random rows as inputs, and their category codes."""
    generator = np.random.default_rng(0)
    shape = (TRIALS, len(sizes))
    codes = generator.integers(0, np.array(sizes), shape) if sizes else np.zeros(shape, dtype=np.int64)
    blocks = [np.eye(size)[codes[:, column]] for column, size in enumerate(sizes)]
    x = np.concatenate([generator.normal(size=(TRIALS, numeric)), *blocks], 1)
    return torch.from_numpy(x).float(), codes


def _is_table(slopes: Tensor, codes: np.ndarray) -> bool:
    """Whether each row's gradient stays on its own category, and most rows have one."""
    used = (slopes != 0).any(-1).numpy()  # (rows, categories)
    own = used[np.arange(len(used)), codes]
    return bool(used.sum() == own.sum() and own.mean() > 0.5)


def _number_tokens(
    parameters: Parameters, slopes: Parameters, x: Tensor, taken: set[str]
) -> tuple[str | None, str | None]:
    """A pair of parameters with the gradients x_j d_j and d_j for every row alone.

    A token's weight and bias are such a pair, and so are those of a BatchNorm that the numbers go through first (its
    stored statistics stay at 0 and 1, see ``Learner``).
    """
    numeric = x.shape[1]
    free = [name for name, value in parameters.items() if numeric and len(value) >= numeric and name not in taken]
    for weight, bias in itertools.permutations(free, 2):
        if slopes[weight].shape != slopes[bias].shape:
            continue
        scaled, plain = (slopes[name].reshape(*slopes[name].shape[:2], -1)[:, :numeric] for name in (weight, bias))
        seen = bool((plain != 0).any(-1).any(0).all())
        if seen and torch.allclose(scaled, x[:, :, None] * plain, rtol=1e-3, atol=1e-6 * float(plain.abs().max())):
            return weight, bias
    return None, None


def number_part(value: Tensor, numeric: int) -> Tensor:
    """(numeric, entries) the part of a parameter that belongs to the numbers, which come first."""
    return value.reshape(len(value), -1)[:numeric]
