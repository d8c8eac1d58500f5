"""Small tables of the form of papers' data sets, as a user's own copies of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from seepage.data import readers

_NUMBERS = {
    "age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week", "wage per hour",
    "capital gains", "capital losses", "dividends from stocks", "instance weight", "num persons worked for employer",
    "weeks worked in year", "balance", "day", "duration", "campaign", "pdays", "previous",
}  # fmt: skip
_BANK = (
    "age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact", "day", "month",
    "duration", "campaign", "pdays", "previous", "poutcome", "deposit",
)  # fmt: skip


def _written(file: Path, names: tuple[str, ...], rows: int, words: dict[str, tuple[str, ...]]) -> Path:
    random = np.random.default_rng(0)
    columns = {
        name: random.integers(0, 60, rows)
        if name in _NUMBERS
        else random.choice(words.get(name, ("a", "b", "c")), rows)
        for name in names
    }
    pl.DataFrame(columns).write_csv(file)
    return file


def adult(folder: Path, rows: int = 400) -> Path:
    """Random people with Adult's columns."""
    words = {"class": ("<=50K", ">50K"), "sex": ("Female", "Male"), "workclass": ("Private", "State-gov")}
    return _written(folder / "adult.csv", readers.ADULT_COLUMNS, rows, words)


def census(folder: Path, rows: int = 4000) -> Path:
    """Random people with Census-Income's columns, 95 % of whom earn little, as there."""
    words = {"income": ("- 50000.",) * 19 + ("50000+.",), "sex": ("Female", "Male"), "year": ("94", "95")}
    return _written(folder / "census.csv", readers.CENSUS_COLUMNS, rows, words)


def bank(folder: Path, rows: int = 2200) -> Path:
    """Random people with Bank Marketing's columns."""
    yes = dict.fromkeys(("default", "housing", "loan", "deposit"), ("no", "yes"))
    return _written(folder / "bank.csv", _BANK, rows, yes)


def digits(folder: Path, rows: int = 820) -> Path:
    """Pictures of noise with MNIST's columns."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (rows, 784))
    labels = np.arange(rows) % 10
    frame = pl.DataFrame(np.column_stack([pixels, labels]), schema=list(readers.MNIST_COLUMNS), orient="row")
    frame.write_csv(folder / "digits.csv")
    return folder / "digits.csv"
