"""The table that an audit prints."""

from __future__ import annotations

import pytest

from seepage.cli.console import console, print_summary
from seepage.results import Summary
from tests.report.example import a_cell, a_summary, records_of


def printed(summary: Summary) -> list[str]:
    with console.capture() as captured:
        print_summary(summary)
    return captured.get().splitlines()


@pytest.mark.parametrize(
    ("name", "values"),
    [("dataset", ("one", "two")), ("protocol", ("fedsgd", "fedavg")), ("variant", ("[old] way", "[/new] way"))],
)
def test_lines_of_a_grid_can_be_told_apart(name: str, values: tuple[str, str]) -> None:
    lines = printed(a_summary([r for value in values for r in records_of(a_cell(**{name: value}), 2)]))
    assert any(name in line for line in lines)
    for value in values:
        assert sum(value in line for line in lines[1:]) == 1


def test_what_does_not_vary_is_no_column() -> None:
    lines = printed(a_summary(records_of(a_cell(), 2)))
    assert not any("variant" in line or "dataset" in line for line in lines)
