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


def test_the_count_of_certificates_is_the_stored_one_and_none_was_wrong() -> None:
    benchmark = module_at(BENCHMARK.PAGE.parents[2] / "benchmarks" / "certificates.py")
    counts = benchmark.stored()
    assert benchmark.sentence(counts) in benchmark.PAGE.read_text()
    assert sum(each["certificates"] for each in counts) > 1000
    assert not any(each["wrong"] for each in counts)


def test_the_table_of_pursuit_is_made_from_stored_numbers() -> None:
    benchmark = module_at(BENCHMARK.PAGE.parents[2] / "benchmarks" / "pursuit.py")
    page, batches = benchmark.PAGE.read_text(), json.loads(benchmark.STORED.read_text())
    assert benchmark.with_table(page, batches) == page, "run python benchmarks/pursuit.py --batches 0 --store"
    assert all(each["cells"] > each["fast_cells"] for each in batches)  # on every batch
