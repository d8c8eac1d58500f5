from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import InputError, Streams
from seepage.attacks.vertical import binary_columns
from seepage.attacks.vertical.space import column_space
from seepage.metrics import binary_found
from tests.attacks.vertical.guests import clinic_guest, sent


def distance(columns: np.ndarray, x: np.ndarray) -> np.ndarray:
    """From the true encoding's column space, by least squares in float64."""
    true = np.c_[np.ones(len(x)), x].astype(np.float64)
    combination = np.linalg.lstsq(true, columns.T.astype(np.float64), rcond=1e-9)[0]
    return np.abs(true @ combination - columns.T).max(0)


@pytest.mark.parametrize("mixed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_yes_or_no_columns_of_a_clinic_are_found(mixed: bool) -> None:
    guest = clinic_guest(1000)
    found = binary_columns(sent(guest.x, mixed=mixed, trained=True), streams=Streams(0))
    scores = binary_found(found.columns, guest.x, guest.encoder.layout)
    assert scores["entries_implied"] == 1.0
    assert scores["entries_near"] > 0.95
    assert scores["one_column_near"] > 0.9
    # One row has a category of its own, so it is free: columns that are 1 there are found without it.
    assert scores["entries_found"] > 0.8
    assert scores["one_column"] > 0.7
    assert distance(found.columns, guest.x).max() < 1e-4
    assert found.residual.max() < 1e-3


def test_found_columns_are_each_one_fact_and_the_lightest_first() -> None:
    found = binary_columns(sent(clinic_guest(512).x), streams=Streams(0)).columns
    ones = found.sum(1)
    assert found.dtype == np.uint8
    assert (ones > 0).all()
    assert (2 * ones <= found.shape[1]).all()
    assert (np.diff(ones.astype(int)) >= 0).all()
    assert len({(c ^ c[0]).tobytes() for c in found}) == len(found)


def test_the_same_seed_finds_the_same() -> None:
    message = sent(clinic_guest(512).x)
    one, other = (binary_columns(message, starts=200, streams=Streams(5)) for _ in range(2))
    assert (one.columns == other.columns).all()


def random_guest(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, whole numbers, binary columns and a block; how they are mixed, badly perhaps; and the block's codes."""
    generator = np.random.default_rng(seed)
    rows = int(generator.integers(60, 300))
    codes = generator.integers(0, 4, rows)
    columns = [
        generator.normal(size=(rows, int(generator.integers(0, 4)))),
        generator.poisson(1.5, size=(rows, int(generator.integers(0, 3)))),
        generator.random((rows, int(generator.integers(0, 5)))) < generator.uniform(0.05, 0.5),
        np.eye(4)[codes],
    ]
    x = np.concatenate(columns, axis=1)
    mixing = generator.normal(size=(x.shape[1], x.shape[1])) * 10 ** generator.uniform(-3, 0, x.shape[1])
    return x, (x @ mixing + generator.normal(scale=3, size=x.shape[1])).astype(np.float32), codes


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_only_what_is_in_the_columns_is_found(seed: int) -> None:
    x, message, _ = random_guest(seed)
    found = binary_columns(message, starts=400, streams=Streams(seed))
    assert distance(found.columns, x).max(initial=0) < 1e-6


def test_the_categories_of_random_guests_are_found() -> None:
    right = []
    for seed in range(15):
        _, message, codes = random_guest(seed)
        found = binary_columns(message, starts=400, streams=Streams(seed)).columns
        known = {(column ^ column[0]).tobytes() for column in found}
        entries = [(codes == code).astype(np.uint8) for code in range(4)]
        right += [(entry ^ entry[0]).tobytes() in known for entry in entries]
    assert np.mean(right) > 0.95


def test_a_guest_of_numbers_has_no_binary_columns() -> None:
    x = Streams(0).numpy("numbers").normal(size=(500, 12))
    assert len(binary_columns(sent(x), streams=Streams(0))) == 0


def test_messages_that_never_change_hold_nothing() -> None:
    found = binary_columns(np.full((50, 3), 0.1, dtype=np.float32), streams=Streams(0))
    assert found.columns.shape == (0, 50)
    assert found.residual.shape == (0,)


def test_one_wrong_row_is_not_in_the_space() -> None:
    guest = clinic_guest(512)
    space = column_space(sent(guest.x))
    truth = (guest.x[:, guest.encoder.layout.blocks[0].start] > 0.5).astype(np.float64)
    wrong = np.abs(truth - np.eye(512))  # one row changed, each row once
    outside = (space.basis**2).sum(1) < 0.99  # a row with a category of its own is free
    assert space.holds(truth[None]).all()
    assert not space.holds(wrong[outside]).any()


def noisy(message: np.ndarray, deviation: float) -> np.ndarray:
    return message + Streams(0).numpy("noise").normal(scale=deviation, size=message.shape)


def test_little_noise_hides_the_columns_only_from_a_host_that_does_not_know_of_it() -> None:
    guest = clinic_guest(1000)
    message = noisy(sent(guest.x), 1e-4)
    assert len(binary_columns(message, starts=200, streams=Streams(0))) == 0
    found = binary_columns(message, noise=1e-4, streams=Streams(0))
    assert binary_found(found.columns, guest.x, guest.encoder.layout)["entries_near"] > 0.9


def test_much_noise_hides_the_columns() -> None:
    message = noisy(sent(clinic_guest(512).x), 0.3)
    assert len(binary_columns(message, starts=200, noise=0.3, streams=Streams(0))) == 0


@pytest.mark.parametrize(
    ("message", "starts", "sentence"),
    [
        (np.zeros((0, 3)), 10, "is empty"),
        (np.zeros(5), 10, "must be a matrix"),
        (np.full((9, 2), np.inf), 10, "not finite"),
        (np.random.default_rng(0).normal(size=(10, 8)), 10, "10 rows are too few"),
        (np.zeros((9, 2)), 0, "at least one start"),
        (np.zeros((9, 2)), 10, "must be a deviation"),
    ],
)
def test_bad_input_is_one_sentence(message: np.ndarray, starts: int, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        binary_columns(message, starts=starts, noise=-1.0 if "deviation" in sentence else 0.0, streams=Streams(0))
