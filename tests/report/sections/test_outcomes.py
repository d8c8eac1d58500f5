"""How trials ended."""

from __future__ import annotations

from dataclasses import replace

from seepage.report import render
from seepage.report.sections.outcomes import outcomes
from tests.report.example import Reader, a_cell, a_property_summary, a_summary, plain, records_of


def test_failures_are_counted_and_explained() -> None:
    view = outcomes(a_summary())
    assert view is not None
    assert (plain(view.made), view.failed) == ("120 attacks were made", 28)
    assert [(each.name, each.amount, each.scored) for each in view.endings] == [
        ("diverged", 8, False), ("does not apply", 20, False), ("finished", 92, True),
    ]  # fmt: skip
    assert "28 gave nothing to score" in Reader(render(a_summary())).text


def test_a_budget_that_was_used_does_not_read_as_a_failure_where_everything_was_read() -> None:
    every, some = records_of(a_cell(), 2, exact=1.0), records_of(a_cell(batch_size=1), 3, exact=0.2)
    records = [replace(record, outcome="budget_spent") for record in (*every, *some)]
    summary = a_summary(records)
    assert [cell.ending for cell in summary.cells] == ["all read", "whole budget used"]
    view = outcomes(summary)
    assert view is not None
    assert [(each.name, each.amount) for each in view.endings] == [("all read", 2), ("whole budget used", 3)]
    assert "nothing left to read" in view.endings[0].meaning
    assert "budget_spent" not in Reader(render(summary)).text


def test_an_ending_of_another_version_is_not_scored() -> None:
    view = outcomes(a_summary(records_of(a_cell(), 1, outcome="eaten")))
    assert view is not None
    assert (plain(view.made), view.endings[0].scored) == ("1 attack was made", False)
    assert "does not know" in view.endings[0].meaning


def test_no_failure_is_said_too() -> None:
    assert "160 readings were made; none failed." in Reader(render(a_property_summary())).text
