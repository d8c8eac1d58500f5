"""Clients get every training row once, in the proportions asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.data import IID, ByColumn, Dirichlet, Partition, QuantitySkew, Table, clinic, infer_schema

from .strategies import tables


def clinic_table(rows: int) -> Table:
    frame = clinic(rows)
    return Table.from_frame(frame, infer_schema(frame, "died", known=True))


@given(
    tables(min_rows=8, max_rows=60),
    st.integers(1, 8),
    st.sampled_from([0.3, 1.0, 10.0]),
    st.sampled_from(["iid", "dirichlet", "skew"]),
    st.integers(0, 99),
)
def test_no_row_is_lost_or_doubled(table: Table, clients: int, alpha: float, which: str, seed: int) -> None:
    ways: dict[str, Partition] = {
        "iid": IID(clients=clients),
        "dirichlet": Dirichlet(clients=clients, alpha=alpha),
        "skew": QuantitySkew(clients=clients, alpha=alpha),
    }
    try:
        parts = ways[which](table, np.random.default_rng(seed))
    except InputError as error:
        assume("left a client without rows" not in str(error))
        raise
    assert len(parts) == clients
    assert min(map(len, parts)) >= 1
    assert sorted(np.concatenate(parts)) == list(range(len(table)))


def test_iid_shares_are_equal_and_stratified() -> None:
    table = clinic_table(2000)
    parts = IID(clients=10)(table, np.random.default_rng(0))
    assert {len(part) for part in parts} == {200}
    assert all(table.target[part].sum() == pytest.approx(5, abs=1) for part in parts)


def test_a_small_alpha_makes_clients_differ_more() -> None:
    table = clinic_table(2000)

    def spread(alpha: float) -> float:
        parts = Dirichlet(clients=5, alpha=alpha)(table, np.random.default_rng(0))
        return float(np.std([table.target[part].mean() for part in parts]))

    assert spread(0.5) > spread(100.0)


def test_dirichlet_bins_a_regression_target() -> None:
    frame = clinic(1000).select("age", "sex", "heart_rate")
    table = Table.from_frame(frame, infer_schema(frame, "heart_rate", task="regression"))
    parts = Dirichlet(clients=4, alpha=0.4)(table, np.random.default_rng(0))
    assert np.std([table.target[part].mean() for part in parts]) > 2


def test_by_column_gives_one_client_per_value() -> None:
    table = clinic_table(500)
    parts = ByColumn(column="ward")(table, np.random.default_rng(0))
    place = [column.name for column in table.schema.categorical].index("ward")
    assert len(parts) == 6
    assert all(len(set(table.codes[part, place])) == 1 for part in parts)
    assert sorted(np.concatenate(parts)) == list(range(500))


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        (IID(clients=0), "at least 1 is needed"),
        (IID(clients=101), "use fewer clients"),
        (Dirichlet(alpha=0.0), "must be above 0"),
        (QuantitySkew(alpha=-1.0), "must be above 0"),
        (ByColumn(column="wards"), "Did you mean 'ward'"),
        (ByColumn(column="age"), "Unknown categorical column"),
        (Dirichlet(clients=90, alpha=0.01), "left a client without rows"),
    ],
)
def test_bad_settings_are_one_sentence(partition: Partition, words: str) -> None:
    with pytest.raises(InputError, match=words):
        partition(clinic_table(100), np.random.default_rng(0))
