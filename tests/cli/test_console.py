"""The table that an audit prints."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from seepage.cli.console import ProgressBars, console, print_summary
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


def test_a_narrow_terminal_cuts_words_and_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(file=io.StringIO(), width=80, force_terminal=True)
    monkeypatch.setattr("seepage.cli.console.errors", terminal)
    with ProgressBars(expected=82) as bars:
        bars("mlp, batch 128, initialized, exact:restarts=10: attack", 1200, 4375, "10 restarts, loss 2.2e-05")
    lines = [Text.from_ansi(line).plain for line in terminal.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert any("1200/4375" in line and "0:00:00" in line for line in lines)
    assert max(len(line) for line in lines) <= 80


def test_work_that_grows_has_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(file=io.StringIO(), width=120, force_terminal=True)
    monkeypatch.setattr("seepage.cli.console.errors", terminal)
    with ProgressBars() as bars:
        for known in range(3):
            bars("trying", known, known + 1, f"batch {known}")
    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "2/3" in shown
    assert shown.rpartition("2/3")[0].count("\n") == 0  # one line, drawn again and again
