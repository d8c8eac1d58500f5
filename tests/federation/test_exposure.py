from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.federation import Automatic, Clock, FedAvg, FedSGD, Milestones

SIZES = st.lists(st.integers(1, 500), min_size=1, max_size=6)


@given(SIZES, st.integers(1, 40), st.floats(0, 30))
def test_a_run_ends_in_the_first_round_that_reaches_the_target(sizes: list[int], batch: int, target: float) -> None:
    sizes = [size + batch for size in sizes]  # a batch must fit
    clock = FedSGD(batch_size=batch).clock(sizes)
    rounds = clock.rounds_until(target)
    assert min(clock.exposures(rounds)) >= target - 1e-6
    assert rounds == 1 or min(clock.exposures(rounds - 1)) < target


@given(SIZES, st.integers(1, 40), st.integers(0, 200))
def test_exposure_is_processed_rows_over_whole_batches(sizes: list[int], batch: int, rounds: int) -> None:
    sizes = [size + batch for size in sizes]
    exposures = FedSGD(batch_size=batch).clock(sizes).exposures(rounds)
    for size, exposure in zip(sizes, exposures, strict=True):
        assert exposure == pytest.approx(rounds * batch / (size // batch * batch))


@pytest.mark.parametrize("epochs", [1, 2, 4])
def test_fedavg_epochs_land_on_24(epochs: int) -> None:
    clock = FedAvg(batch_size=8, local_rows=32, local_epochs=epochs).clock([100, 200])
    assert clock.rounds_until(24) == 24 // epochs
    assert clock.exposures(24 // epochs) == (24.0, 24.0)


def test_fedavg_limited_to_some_batches_needs_more_rounds() -> None:
    clock = FedAvg(batch_size=10, local_rows=None, local_batches=2).clock([105])
    assert clock.passes == (Fraction(100, 20),)


def test_automatic_points_are_first_quarters_last() -> None:
    clock = Clock((Fraction(40),))
    assert Automatic().rounds(clock, 1000) == {"initialized": 1, "25%": 250, "50%": 500, "75%": 750, "final": 1000}
    assert set(Automatic().rounds(clock, 1).values()) == {1}
    assert Automatic(keep=("final",)).rounds(clock, 1) == {"final": 1}


def test_milestones_are_rounds_of_the_least_exposed_client() -> None:
    clock = FedSGD(batch_size=8).clock([80, 160])
    assert Milestones(exposures=(0, 1, 5)).rounds(clock, 500) == {"initialized": 1, "exposure 1": 20, "exposure 5": 100}
    with pytest.raises(InputError, match="ends before exposure 5"):
        Milestones(exposures=(0, 5)).rounds(clock, 50)


def test_unknown_points_are_named() -> None:
    with pytest.raises(InputError, match="Did you mean 'initialized'"):
        Automatic(keep=("initialised",))
    with pytest.raises(InputError, match="none below 0"):
        Milestones(exposures=(-1,))
    with pytest.raises(InputError, match="none below 0"):
        Milestones(exposures=(float("nan"),))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FedSGD(batch_size=11).clock([100, 10]), "larger than the smallest client, which has 10 rows"),
        (lambda: FedSGD(batch_size=0).clock([100]), "at least 1"),
        (lambda: FedAvg(batch_size=64, local_rows=32), "larger than the 32 local rows"),
        (lambda: FedAvg(batch_size=8, local_rows=32).clock([100, 10]), "32 local rows, but the smallest client has 10"),
        (lambda: FedAvg(local_epochs=0), "0 local epochs"),
        (lambda: FedAvg(local_batches=0), "0 local batches"),
    ],
)
def test_impossible_protocols_are_one_sentence(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
