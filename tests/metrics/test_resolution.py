"""What "exact" means for numbers: the seen cases were a zip code five off and a balance two off, counted as exact."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import Outcome, Streams
from seepage.data import Encoder, Table, infer_schema
from seepage.federation import Truth
from seepage.metrics import Evaluator, Reference
from seepage.metrics.resolution import resolution
from seepage.observation import Claim, Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, Measure

ROWS = 40
NUMBERS = np.arange(ROWS)
FRAME = pl.DataFrame(
    {
        "zip": 69001 + 37 * NUMBERS,
        "balance": np.round(5251.85 + 113.17 * NUMBERS, 2),
        "ward": [f"w{number % 3}" for number in NUMBERS],
        "died": [number % 2 for number in NUMBERS],
    }
)


def table_of(frame: pl.DataFrame) -> Table:
    return Table.from_frame(frame, infer_schema(frame, target="died"))


TABLE = table_of(FRAME)
ENCODER = Encoder(schema=TABLE.schema)
STATISTICS = ENCODER.statistics(TABLE)


def scores(numbers: np.ndarray) -> dict[str, float]:
    """Of a claim of the first row with these numbers."""
    truth = Truth(rows=TABLE.take(np.array([0])), encoder=ENCODER, statistics=STATISTICS, client_rows=TABLE)
    claimed = Table(TABLE.schema, numbers, truth.rows.codes, truth.rows.target)
    claim = Claim(outcome=Outcome.OK, rows=ENCODER.encode(claimed, STATISTICS))
    values = Evaluator(training=Reference.of(TABLE))(claim, truth, Knowledge(), Streams(0).numpy("b"))
    return {name: values[Measure(ATTACK, ALL_COLUMNS, name)] for name in ("exact", "emr")}


def test_every_column_has_its_own_step() -> None:
    assert resolution(TABLE) == pytest.approx([1.0, 0.01])


@pytest.mark.parametrize(
    ("zip_code", "balance", "exact"),
    [
        (69001.0, 5251.85, 1.0),
        (69001.2, 5251.8521, 1.0),
        (69006.0, 5251.85, 0.0),
        (69001.0, 5249.62, 0.0),
        (69001.0, 5251.84, 0.0),
    ],
)
def test_a_row_that_is_near_is_not_yet_exact(zip_code: float, balance: float, exact: float) -> None:
    assert scores(np.array([[zip_code, balance]])) == {"exact": exact, "emr": 1.0}


@given(st.integers(0, 6), st.lists(st.integers(-(10**5), 10**5), min_size=5, max_size=30, unique=True))
def test_the_step_is_that_of_the_digits(decimals: int, units: list[int]) -> None:
    units = [*units, 1, 3]  # so that the last digit is used
    frame = pl.DataFrame({"x": [unit / 10**decimals for unit in units], "died": [i % 2 for i in range(len(units))]})
    schema = infer_schema(frame.with_columns(x=pl.int_range(len(units)) + 0.5), target="died")
    found = resolution(
        Table(schema, frame["x"].to_numpy()[:, None], np.zeros((len(units), 0), int), np.zeros(len(units)))
    )
    assert found[0] == pytest.approx(10.0**-decimals)


def test_more_digits_than_single_precision_are_not_asked_for() -> None:
    fine = table_of(FRAME.with_columns(balance=pl.col("balance") / 7))
    spread = float(fine.numbers[:, 1].max() - fine.numbers[:, 1].min())
    assert resolution(fine)[1] == pytest.approx(spread / 2**22)


def test_what_fills_empty_cells_adds_no_digits() -> None:
    gaps = FRAME.with_columns(balance=pl.when(pl.col("zip") % 5 > 0).then(pl.col("balance")))
    assert resolution(table_of(gaps)) == pytest.approx([1.0, 0.01])


def test_a_column_of_one_value_has_a_step() -> None:
    constant = Table(TABLE.schema, np.full((3, 2), 7.0), TABLE.codes[:3], TABLE.target[:3])
    assert (resolution(constant) > 0).all()
