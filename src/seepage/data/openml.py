"""Data sets from OpenML, checked against what is known of them."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from seepage._core.cache import cache_dir
from seepage._core.errors import FetchError
from seepage.data.fetch import why

OPENML_SECONDS = 60.0  # per answer of the server


@dataclass(frozen=True, kw_only=True)
class OpenML:
    """A data set of openml.org.

    Args:
        number: its data id; an id is one version and never changes.
        rename: the names this id gives to columns -> ours.
        values: per column (our names), the id's values -> ours.
    """

    number: int
    rename: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def fetch_openml_frame(source: OpenML) -> pl.DataFrame:
    """A data set of OpenML as a frame: categories as text, numbers as numbers, empty cells null, target
    last.
    """
    from sklearn.datasets import fetch_openml  # heavy, and needed by few

    home = cache_dir() / "openml"
    try:
        with _socket_limit(OPENML_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells of every retry
            bunch = fetch_openml(
                data_id=source.number, as_frame=False, parser="liac-arff", data_home=str(home), n_retries=1
            )
    except (OSError, ValueError) as error:  # no network, or OpenML says no
        raise FetchError(f"OpenML did not give data set {source.number} ({why(error)})") from None
    return openml_frame(bunch, source)


def openml_frame(bunch: Any, source: OpenML) -> pl.DataFrame:
    """The frame of what ``fetch_openml`` returned: it writes a category as the number of its name, and empty
    as NaN.
    """
    data, columns = bunch["data"], {}
    dense = data.toarray() if hasattr(data, "toarray") else data
    for position, name in enumerate(bunch["feature_names"]):
        values, names = dense[:, position], bunch["categories"].get(name)
        if names is not None:
            cells = [None if np.isnan(float(v)) else str(names[int(v)]) for v in values]
            columns[name] = pl.Series(name, cells, dtype=pl.String)
        else:
            columns[name] = pl.Series(name, values.astype(np.float64), nan_to_null=True)
    label = bunch["target_names"][0]
    columns[label] = pl.Series(label, [str(value) for value in bunch["target"]])
    frame = pl.DataFrame(columns).rename(dict(source.rename), strict=False)
    return frame.with_columns(pl.col(name).replace(dict(change)) for name, change in source.values.items())


@contextmanager
def _socket_limit(seconds: float) -> Iterator[None]:
    """``fetch_openml`` has no time limit of its own, so the process's default is lent to it."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
