"""The page of advice shows what the benchmark stored."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loading import module_at

BENCHMARK = module_at(Path(__file__).parents[2] / "benchmarks" / "advising.py")
STORED = json.loads(BENCHMARK.STORED.read_text())


def test_the_table_is_made_from_the_stored_results() -> None:
    page = BENCHMARK.PAGE.read_text()
    assert BENCHMARK.with_tables(page, STORED) == page, "run python benchmarks/advising.py --out FOLDER --store"


def test_no_choice_of_the_search_leaks_on_fresh_seeds() -> None:
    assert {each["data"] for each in STORED} == set(BENCHMARK.TITLES)
    for each in STORED:
        if each["advise"] is not None:
            assert each["advise_rows_exact"][0] == 0
            assert each["advise_gain"]["mean"] <= 0.05


def test_the_search_is_within_two_points_of_a_grid_whose_choice_holds() -> None:
    for each in STORED:
        if each["grid"] is not None and (each["grid_held"] == "held" or each["advise"] is not None):
            assert each["difference"] <= 0.02
