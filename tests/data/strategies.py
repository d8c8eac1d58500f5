"""Random tables for the property tests: any mix of kinds, any number of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from seepage.data import Column, Schema, Table, Target


@st.composite
def tables(draw: st.DrawFn, min_rows: int = 1, max_rows: int = 30, task: str | None = None) -> Table:
    """A valid table: every number inside its column's range, every category known."""
    rows = draw(st.integers(min_rows, max_rows))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(["whole", "real", "categorical"]), min_size=1, max_size=6))
    columns, numbers, codes = [], [], []
    for place, kind in enumerate(kinds):
        if kind == "categorical":
            size = draw(st.integers(1, 5))
            columns.append(_categorical(f"c{place}", size))
            codes.append(generator.integers(0, size, rows))
            continue
        values = generator.integers(-50, 50, rows).astype(float) if kind == "whole" else generator.normal(3, 9, rows)
        low, high = float(values.min()), float(values.max())
        columns.append(Column(name=f"n{place}", kind="numeric", integer=kind == "whole", low=low, high=high))
        numbers.append(values)
    task = task or draw(st.sampled_from(["binary", "multiclass", "regression"]))
    classes = {"binary": ("no", "yes"), "multiclass": ("a", "b", "c"), "regression": ()}[task]
    target = generator.integers(0, len(classes), rows) if classes else generator.normal(size=rows)
    schema = Schema(columns=tuple(columns), target=Target(name="y", task=task, classes=classes))  # type: ignore[arg-type]
    return Table(
        schema,
        np.stack(numbers, 1) if numbers else np.zeros((rows, 0)),
        np.stack(codes, 1) if codes else np.zeros((rows, 0), dtype=np.int64),
        target,
    )


def _categorical(name: str, size: int) -> Column:
    values = tuple(f"v{value}" for value in range(size))
    return Column(name=name, kind="binary" if size == 2 else "categorical", categories=values)
