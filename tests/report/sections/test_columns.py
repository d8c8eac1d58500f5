"""Which columns are at risk."""

from __future__ import annotations

import pytest

from seepage.report import render
from seepage.report.sections import columns as section
from seepage.report.sections.columns import columns
from seepage.results import Interval
from seepage.results.row_numbers import ColumnNumbers
from tests.report.example import COLUMNS, Reader, a_cell, a_dataset, a_summary, many_columns, records_of


def test_sensitive_columns_come_first() -> None:
    view = columns(a_summary())
    assert [each.column.sensitive for each in view.every] == [True, True, False, False, False, False]
    assert view.every[0].column.name == "diagnosis"
    assert [len(each.gains) for each in view.every] == [12] * 6
    assert view.every[0].gains[9] is None  # that setting failed
    assert view.shade(view.every[0].gains[9]) == "gap"


def test_columns_of_one_name_in_two_tables_are_two() -> None:
    both = [COLUMNS[0].model_copy(update={"dataset": name}) for name in ("one", "two")]
    records = records_of(a_cell(dataset="one"), accuracy=0.95) + records_of(a_cell(dataset="two"), accuracy=0.6)
    one, two = columns(a_summary(records, COLUMNS[:1], dataset=a_dataset(both))).every
    assert (one.label, two.label) == ("age (one)", "age (two)")
    assert one.gains[0] is not None
    assert one.gains[1] is two.gains[0] is None
    assert one.gain is not None
    assert two.gain is not None
    assert one.gain > two.gain + 0.2


def test_of_hundreds_of_columns_those_at_risk_are_shown_and_the_rest_counted() -> None:
    wide = many_columns(784)
    summary = a_summary(records_of(a_cell(), columns=wide), wide)
    view = columns(summary)
    assert (len(view.every), view.left_out) == (240, 544)
    assert all(each.column.sensitive for each in view.every[:20])
    assert "The 240 columns most at risk; 544 more are in summary.json." in Reader(render(summary)).text


def test_the_heat_map_has_the_settings_that_leak_most(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [r for n in range(1, 9) for r in records_of(a_cell(batch_size=n), 4, accuracy=0.6 + n / 20, exact=0)]
    view = columns(a_summary(records))
    assert [leak.number for leak in view.settings] == list(range(1, 9))
    assert view.settings_left_out == 0
    monkeypatch.setattr(section, "HEAT_LIMIT", 3 * len(COLUMNS))
    view = columns(a_summary(records))
    assert ([leak.number for leak in view.settings], view.settings_left_out) == ([6, 7, 8], 5)
    assert "The 3 settings that leak most" in Reader(render(a_summary(records))).text


def test_shades_go_from_below_guessing_to_above() -> None:
    view = columns(a_summary())
    assert view.scale >= 0.2
    assert [view.shade(gain) for gain in (-view.scale, 0.0, 0.4 * view.scale, view.scale)] == ["d5", "d0", "u2", "u5"]


def test_the_map_is_a_table_that_can_be_read_without_colours() -> None:
    page = render(a_summary())
    assert Reader(page).text.count("Gain over guessing in percentage points, per column and setting") == 1
    assert 'class="heat"' in page
    assert '<td class="u' in page


def test_a_column_must_beat_the_best_guess_of_it() -> None:
    half, most = Interval(0.49, 0.45, 0.53), Interval(0.9, 0.88, 0.92)
    told = ColumnNumbers(name="flag", kind="binary", attack=Interval(0.94, 0.9, 0.98), prior=half, marginal=most)
    assert told.best_guess == most
    assert told.gain == pytest.approx(0.04)
    assert ColumnNumbers(name="flag", kind="binary", attack=most).gain is None
