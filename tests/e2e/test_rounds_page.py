"""The page on exact inversion: its table of rounds is that of the stored run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loading import module_at

BENCHMARK = module_at(Path(__file__).parents[2] / "benchmarks" / "rounds.py")
CELLS = json.loads(BENCHMARK.STORED.read_text())


def test_the_table_is_made_from_stored_numbers() -> None:
    page = BENCHMARK.PAGE.read_text()
    assert BENCHMARK.with_table(page, CELLS) == page, "run python benchmarks/rounds.py --only none --store"


def test_no_certified_row_was_wrong() -> None:
    assert CELLS
    assert not [cell["cell"] for cell in CELLS if cell["certified_wrong"]]
