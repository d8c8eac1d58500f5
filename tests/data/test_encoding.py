"""Rows become inputs and come back unchanged, whatever the encoder's options are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.data import Encoder, Table, clinic, infer_schema
from seepage.data.table import UNKNOWN_CODE

from .strategies import tables

options = st.fixed_dictionaries(
    {
        "categories": st.sampled_from(["onehot", "ordinal"]),
        "numbers": st.sampled_from(["standard", "minmax", "none"]),
        "standardise_onehot": st.booleans(),
    }
)


@given(tables(), options)
def test_decode_undoes_encode(table: Table, settings: dict[str, Any]) -> None:
    encoder = Encoder(schema=table.schema, **settings)
    statistics = encoder.statistics(table)
    numbers, codes = encoder.decode(encoder.encode(table, statistics), statistics)
    np.testing.assert_array_equal(codes, table.codes)
    whole = [place for place, column in enumerate(table.schema.numeric) if column.integer]
    np.testing.assert_array_equal(numbers[:, whole], table.numbers[:, whole])
    np.testing.assert_allclose(numbers, table.numbers, rtol=1e-4, atol=1e-4)


@given(tables(), options)
def test_the_layout_says_where_things_are(table: Table, settings: dict[str, Any]) -> None:
    encoder = Encoder(schema=table.schema, **settings)
    layout, encoded = encoder.layout, encoder.encode(table, encoder.statistics(table))
    assert encoded.shape == (len(table), layout.width)
    assert encoded.dtype == np.float32
    assert np.isfinite(encoded).all()
    ends = [layout.numeric, *(block.stop for block in layout.blocks)]
    assert [block.start for block in layout.blocks] == ends[:-1]
    assert ends[-1] == layout.width


@given(tables(min_rows=2), st.sampled_from(["onehot", "ordinal"]))
def test_a_one_hot_block_sums_to_one(table: Table, categories: Any) -> None:
    encoder = Encoder(schema=table.schema, categories=categories)
    encoded = encoder.encode(table, encoder.statistics(table))
    for block in encoder.layout.blocks:
        np.testing.assert_array_equal(encoded[:, block].sum(1), 1)


def clinic_table(rows: int = 300) -> Table:
    frame = clinic(rows)
    return Table.from_frame(frame, infer_schema(frame, "died"))


def test_standardised_inputs_have_mean_zero_and_deviation_one() -> None:
    table = clinic_table()
    encoder = Encoder(schema=table.schema, standardise_onehot=True)
    encoded = encoder.encode(table, encoder.statistics(table)).astype(np.float64)
    np.testing.assert_allclose(encoded.mean(0), 0, atol=1e-5)
    varied = encoded.std(0) > 0
    np.testing.assert_allclose(encoded[:, varied].std(0), 1, atol=1e-5)


def test_minmax_puts_numbers_between_zero_and_one() -> None:
    table = clinic_table()
    encoder = Encoder(schema=table.schema, numbers="minmax")
    numbers = encoder.encode(table, encoder.statistics(table))[:, : encoder.layout.numeric]
    np.testing.assert_allclose(numbers.min(0), 0, atol=1e-6)
    np.testing.assert_allclose(numbers.max(0), 1, atol=1e-6)


def test_more_rows_than_one_stretch_are_encoded_alike() -> None:
    table = clinic_table(3000)
    encoder = Encoder(schema=table.schema)
    statistics = encoder.statistics(table)
    whole = encoder.encode(table, statistics)
    for start in (0, 1000, 1024, 2047, 2999):
        np.testing.assert_array_equal(whole[[start]], encoder.encode(table.take(np.array([start])), statistics))


def test_an_unseen_category_is_an_empty_block_or_the_last_slot() -> None:
    frame = pl.DataFrame({"ward": ["a", "b", "c", "a"], "age": [1, 2, 3, 4], "y": [0, 1, 0, 1]})
    schema = infer_schema(frame, "y")
    new = Table.from_frame(frame.with_columns(ward=pl.Series(["a", "z", "b", "c"])), schema)
    assert new.codes[1, 0] == UNKNOWN_CODE
    onehot = Encoder(schema=schema)
    np.testing.assert_array_equal(onehot.encode(new, onehot.statistics(new))[1, 1:], [0, 0, 0])
    ordinal = Encoder(schema=schema, categories="ordinal")
    np.testing.assert_array_equal(ordinal.encode(new, ordinal.statistics(new))[1, 1:], [0, 0, 0, 1])
    assert ordinal.layout.embedded
    assert not onehot.layout.embedded


@pytest.mark.parametrize("categories", ["onehot", "ordinal"])
def test_decode_always_gives_valid_rows(categories: Any) -> None:
    table = clinic_table()
    encoder = Encoder(schema=table.schema, categories=categories)
    statistics = encoder.statistics(table)
    noise = np.random.default_rng(0).normal(0, 5, (50, encoder.layout.width)).astype(np.float32)
    numbers, codes = encoder.decode(noise, statistics)
    for place, column in enumerate(table.schema.numeric):
        assert numbers[:, place].min() >= column.low
        assert numbers[:, place].max() <= column.high
        if column.integer:
            np.testing.assert_array_equal(numbers[:, place], np.round(numbers[:, place]))
    for place, column in enumerate(table.schema.categorical):
        assert codes[:, place].min() >= 0
        assert codes[:, place].max() < len(column.categories)
    free, _ = encoder.decode(noise, statistics, project=False)
    assert free.min() < numbers.min()


def test_a_constant_column_survives() -> None:
    table = clinic_table()
    constant = replace(table, numbers=np.zeros_like(table.numbers) + 40)
    encoder = Encoder(schema=table.schema)
    statistics = encoder.statistics(constant)
    np.testing.assert_array_equal(encoder.encode(constant, statistics)[:, : encoder.layout.numeric], 0)


def test_a_table_without_numbers_and_one_without_categories() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z", "x"], "b": [1, 2, 3, 4], "y": [0, 1, 0, 1]})
    for drop in ("a", "b"):
        schema = infer_schema(frame, "y", drop=(drop,))
        table = Table.from_frame(frame, schema)
        for categories in ("onehot", "ordinal"):
            encoder = Encoder(schema=schema, categories=categories)  # type: ignore[arg-type]
            statistics = encoder.statistics(table)
            numbers, codes = encoder.decode(encoder.encode(table, statistics), statistics)
            np.testing.assert_array_equal(numbers, table.numbers)
            np.testing.assert_array_equal(codes, table.codes)
