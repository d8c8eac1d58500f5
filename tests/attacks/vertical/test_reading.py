from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import InputError, Streams
from seepage.attacks.vertical import read_directly, read_with_known_rows
from seepage.data import Layout
from seepage.metrics import ColumnsRead, columns_read
from tests.attacks.vertical.guests import clinic_guest, sent

GUEST = clinic_guest(1000)
LAYOUT = GUEST.encoder.layout


def read(claimed: np.ndarray) -> ColumnsRead:
    return columns_read(GUEST.encoder, GUEST.statistics, claimed, GUEST.table)


def some_rows(count: int) -> np.ndarray:
    return Streams(1).numpy("known").choice(len(GUEST.x), count, replace=False)


def test_without_the_linear_layer_the_host_reads_every_column() -> None:
    score = read(read_directly(sent(GUEST.x, mixed=False), LAYOUT))
    assert score.mean > 0.999
    assert min(score.columns.values()) > 0.99


def test_with_the_linear_layer_reading_directly_is_no_better_than_guessing() -> None:
    score = read(read_directly(sent(GUEST.x), LAYOUT))
    assert score.mean < score.baseline_mean


def test_a_trained_batch_norm_hides_numbers_only_from_a_host_that_does_not_standardise() -> None:
    message = sent(GUEST.x, mixed=False, trained=True)
    assert read(read_directly(message, LAYOUT)).mean < 0.9
    assert read(read_directly(message, LAYOUT, standardise=True)).mean > 0.999


def test_a_category_that_every_row_has_is_read_too() -> None:
    layout = Layout(0, (3,))
    always = np.tile([0.0, 1.0, 0.0], (5, 1))
    assert (read_directly(always - 1, layout) == 0.5).all()
    some = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 0]])  # the third entry was removed by BatchNorm: it never changes
    assert read_directly(some * 7 - 2, layout).argmax(1).tolist() == [0, 1, 2]


def test_as_many_known_rows_as_columns_undo_the_linear_layer() -> None:
    width = LAYOUT.width
    for seed in range(3):
        known = some_rows(width + 20)
        score = read(read_with_known_rows(sent(GUEST.x, trained=True, seed=seed), known, GUEST.x[known]))
        assert score.mean > 0.99


def test_known_rows_help_from_the_first_ones_on() -> None:
    message = sent(GUEST.x)
    scores = [read(read_with_known_rows(message, some_rows(k), GUEST.x[some_rows(k)])).mean for k in (1, 10, 25, 40)]
    assert scores == sorted(scores)
    assert scores[0] > 0.4
    assert scores[-1] > 0.9


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans())
def test_affine_messages_are_inverted_exactly(seed: int, width: int, wide: bool) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(40, width))
    z = x @ generator.normal(size=(width, width + 3 * wide)) + generator.normal(size=width + 3 * wide)
    known = generator.choice(40, width + 1, replace=False)
    sizes = np.linalg.svd(np.c_[x[known], np.ones(width + 1)])[1]
    if sizes[-1] > 1e-2:  # the known rows are in general position
        assert np.allclose(read_with_known_rows(z, known, x[known]), x, atol=1e-4)


def test_the_estimate_does_not_depend_on_the_linear_layer() -> None:
    known = some_rows(12)
    first, second = (read_with_known_rows(sent(GUEST.x, seed=seed), known, GUEST.x[known]) for seed in (0, 1))
    assert np.abs(first - second).max() < 1e-2


NAN = np.full((3, 2), np.nan)
TEN = np.arange(20.0).reshape(10, 2)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (np.zeros((0, 2)), "is empty"),
        (np.zeros(3), "must be a matrix"),
        (NAN, "not finite"),
        (np.array([["a", "b"]]), "must hold numbers"),
        (np.zeros((3, 5)), "5 columns, but the guest's encoding has 2"),
    ],
)
def test_a_bad_message_is_one_sentence(message: np.ndarray, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_directly(message, Layout(2, ()))


@pytest.mark.parametrize(
    ("message", "rows", "x", "sentence"),
    [
        (NAN, [0], np.zeros((1, 2)), "not finite"),
        (TEN, [0], NAN, "not finite"),
        (TEN, [], np.zeros((0, 2)), "is empty|are empty"),
        (TEN, [0, 1], np.zeros((1, 2)), "2 known rows, but 1 encodings"),
        (TEN, [10], np.zeros((1, 2)), "from 0 to 9; one is 10"),
        (TEN, [-1], np.zeros((1, 2)), "from 0 to 9; one is -1"),
        (TEN, [1, 1], np.zeros((2, 2)), "twice"),
        (TEN, [0.5], np.zeros((1, 2)), "list of places"),
    ],
)
def test_bad_known_rows_are_one_sentence(message: np.ndarray, rows: list[int], x: np.ndarray, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        read_with_known_rows(message, np.array(rows), x)
    assert str(caught.value).endswith(".")
