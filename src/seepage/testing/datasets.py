"""What a named data set promises."""

from __future__ import annotations

import polars as pl

from seepage.data import DataSet, Table
from seepage.data.registry import schema_of


def check_dataset(dataset: DataSet, frame: pl.DataFrame | None = None) -> None:
    """Check a data set: who made it and under which terms is said, and its frame fits what is said of it.

    Args:
        frame: its rows, where it is not made by a function of its own.
    """
    for field in ("name", "title", "target", "origin", "terms"):
        assert getattr(dataset, field).strip(), f"The data set {dataset.name!r} does not say its {field}."
    if frame is None:
        assert dataset.make is not None, f"The data set {dataset.name!r} has to be fetched: give its frame."
        frame = dataset.make()
    schema = schema_of(dataset, frame)
    assert schema.target.name == dataset.target, f"The target is {schema.target.name!r}, not {dataset.target!r}."
    assert schema.target.task == dataset.task, f"The task is {schema.target.task}, not {dataset.task}."
    for said, there, what in ((dataset.rows, frame.height, "rows"), (dataset.columns, frame.width, "columns")):
        assert said in (0, there), f"The data set {dataset.name!r} says {said} {what}; there are {there}."
    assert len(Table.from_frame(frame, schema)), f"The data set {dataset.name!r} has no row with a target."
