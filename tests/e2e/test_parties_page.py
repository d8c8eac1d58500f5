"""The page on what parties read: its tables are those of the stored run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loading import module_at

BENCHMARK = module_at(Path(__file__).parents[2] / "benchmarks" / "parties_read.py")
STORED = json.loads(BENCHMARK.STORED.read_text())


def test_the_tables_are_made_from_stored_numbers() -> None:
    page = BENCHMARK.PAGE.read_text()
    assert BENCHMARK.with_tables(page, STORED) == page, "run python benchmarks/parties_read.py"


def test_every_attack_of_every_table_was_run_with_the_attacker_alone() -> None:
    plain = [cell for cell in STORED["cells"] if (cell["design"], cell["defense"]) == ("tabvfl", "none")]
    asked = set(BENCHMARK.AUDITS[0]["attacks"])
    for data in BENCHMARK.DATA:
        own = [cell for cell in plain if cell["dataset"] == data]
        assert {cell["attack"] for cell in own} == asked
        assert all({"read", "alone", "guess", "f1"} <= set(cell["numbers"]) for cell in own)


def test_nothing_is_called_safe() -> None:
    assert "safe" not in BENCHMARK.PAGE.read_text().replace("safetensors", "")
