"""A plain loop where ``torch.func.vmap`` would take many clients or restarts in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Axes = int | tuple[int | None, ...]  # 0 for an argument that has the leading axis, None for one that all share


def one_by_one(function: Callable[..., Any], in_dims: Axes = 0) -> Callable[..., Any]:
    """The function for arguments with a leading axis, called once for each entry; results get the axis.

    Args:
        function: of single entries, to tensors or nested tuples and dictionaries of them.
        in_dims: as ``vmap`` takes it; axes other than the first are not needed here.

    Example:
        >>> one_by_one(lambda x, y: x * y, in_dims=(0, None))(torch.tensor([1, 2]), torch.tensor(3))
        tensor([3, 6])
    """

    def looped(*arguments: Any) -> Any:
        axes = (in_dims,) * len(arguments) if isinstance(in_dims, int) else in_dims
        split = [_entries(each) if axis is not None else None for each, axis in zip(arguments, axes, strict=True)]
        count = next(len(each) for each in split if each is not None)
        results = [
            function(*(whole if each is None else each[place] for whole, each in zip(arguments, split, strict=True)))
            for place in range(count)
        ]
        return _stacked(results)

    return looped


def _entries(tree: Any) -> list[Any]:
    """Nested tensors along their first axis. All are cut at once: cutting one by one costs more than a small net."""
    if isinstance(tree, Tensor):
        return list(tree.unbind())
    if isinstance(tree, dict):
        columns = {name: _entries(value) for name, value in tree.items()}
        return [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]
    return list(zip(*(_entries(value) for value in tree), strict=True))


def _stacked(results: Sequence[Any]) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        return torch.stack(list(results))
    if isinstance(first, dict):
        return {name: _stacked([each[name] for each in results]) for name in first}
    return tuple(_stacked([each[place] for each in results]) for place in range(len(first)))
