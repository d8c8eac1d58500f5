"""The page on a server that cheats: its tables are those of the stored run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loading import module_at

BENCHMARK = module_at(Path(__file__).parents[2] / "benchmarks" / "malicious.py")


def test_the_tables_are_made_from_stored_numbers() -> None:
    page, stored = BENCHMARK.PAGE.read_text(), json.loads(BENCHMARK.STORED.read_text())
    assert BENCHMARK.with_tables(page, stored) == page, "run python benchmarks/malicious.py --page"
