"""The page on sums over clients: its tables are those of the stored run, and the prediction holds on five tables."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loading import module_at

BENCHMARK = module_at(Path(__file__).parents[2] / "benchmarks" / "cohorts.py")
STORED = json.loads(BENCHMARK.STORED.read_text())


def test_the_tables_are_made_from_stored_numbers() -> None:
    page = BENCHMARK.PAGE.read_text()
    assert BENCHMARK.with_tables(page, STORED) == page, "run python benchmarks/cohorts.py"


def test_the_predicted_cohort_is_within_a_tenth_of_the_measured_one() -> None:
    limits = [line for line in STORED if line["kind"] == "limit"]
    assert len({line["data"] for line in limits}) >= 5
    for line in limits:
        assert abs(line["predicted"] - line["measured"]) <= 0.1 * line["measured"], line["data"]
        assert all(share <= 0.01 for size, share in line["read"].items() if int(size) >= line["measured"])


def test_no_stored_certificate_or_owner_is_wrong() -> None:
    cells = [line for line in STORED if line["kind"] == "cell"]
    for name in ("certified_wrong", "wrong"):
        assert all(cell["numbers"][name]["mean"] == 0 for cell in cells if name in cell["numbers"])


def test_nothing_is_called_safe() -> None:
    assert "safe" not in BENCHMARK.PAGE.read_text()


def test_bisection_finds_the_step() -> None:
    asked = []

    def read(size: int) -> float:
        asked.append(size)
        return 1.0 if size < 37 else 0.0

    assert BENCHMARK.smallest(read, 32) == 37
    assert BENCHMARK.smallest(lambda size: 1.0 if size < 20 else 0.0, 32) == 20
    assert BENCHMARK.smallest(lambda size: 1.0 if size < 30 or size == 31 else 0.0, 32) == 32
    assert len(set(asked)) < 12
