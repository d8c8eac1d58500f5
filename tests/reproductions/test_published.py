"""Published numbers are all there, and one is found by what is behind it."""

from __future__ import annotations

import pytest

from seepage.reproductions import NAMES, find_paper
from seepage.reproductions.published import Wanted, numbers_of, published_numbers, unit_of

ROWS = {"tableak": 748, "cafe": 223, "profiling": 1601, "property": 448, "tabvfl": 161}


@pytest.mark.parametrize("name", NAMES)
def test_every_published_number_is_there(name: str) -> None:
    numbers = published_numbers(find_paper(name).numbers)
    assert len(numbers) == ROWS[name]
    assert all(number.table and number.metric for number in numbers)


def wanted(**settings: str) -> Wanted:
    return Wanted(metric="psnr", dataset="MNIST", method="CAFE", model=None, behind=settings.get)


def test_a_number_is_found_by_all_that_is_behind_it() -> None:
    numbers = numbers_of("cafe", "3")
    number = wanted(n_workers="4", batch_size="100", n_samples="800").among(numbers)
    assert number is not None
    assert number.value == 47.5
    assert wanted(n_workers="4", batch_size="7", n_samples="800").among(numbers) is None
    assert wanted(batch_size="100").among(numbers) is None  # ours says nothing about the workers
    assert wanted(batch_size="100").among(numbers, ignored=("n_workers", "n_samples")) == number


def test_numbers_are_the_same_however_they_are_written() -> None:
    numbers = numbers_of("cafe", "7")
    number = wanted(train_lr="0.0001", attack_while_training="true").among(numbers, ignored=("setting_no",))
    assert number is not None
    assert (number.setting["train_lr"], number.value) == ("1e-4", 31.82)


def test_units_are_those_of_the_table() -> None:
    assert unit_of("tableak", "1", "accuracy") == "percent"
    assert unit_of("profiling", "2", "accuracy") == "fraction"
    assert unit_of("profiling", "2", "psnr") == ""
