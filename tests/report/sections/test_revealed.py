"""Revealed rows, only on request."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.revealed import revealed
from tests.report.example import a_cell, a_summary, a_vertical_cell, a_vertical_summary, plain, records_of


def a_pair(cell: str, **truth: object) -> dict[str, object]:
    return {"cell": cell, "client": 2, "truth": truth, "reconstruction": dict.fromkeys(truth, 40.8)}


def test_nothing_without_asking() -> None:
    assert revealed(a_summary()) is None
    assert revealed(a_vertical_summary()) is None


def test_rows_stand_beside_what_was_read_and_the_rest_is_counted() -> None:
    view = revealed(a_summary(records_of(a_cell()), revealed=[a_pair(a_cell().id, age=41)] * 103))
    assert view is not None
    assert plain(view.rows[0].label) == "client 2, batch 8 · tableak"
    assert view.rows[0].cells == (("age", "41", "40.8"),)
    assert (len(view.rows), view.left_out) == (100, 3)


def test_people_of_vertical_learning_have_no_client() -> None:
    view = revealed(a_vertical_summary(revealed=[a_pair(a_vertical_cell().id, age=None)]))
    assert view is not None
    assert plain(view.rows[0].label) == "no defence"
    assert view.rows[0].cells == (("age", "–", "40.8"),)


def test_pictures_are_drawn() -> None:
    pair = a_pair(a_cell().id, pixel_0=0, pixel_1=255)
    summary = a_summary(records_of(a_cell()), revealed=[pair, pair])
    view = revealed(summary)
    assert view is not None
    assert view.rows == ()
    assert [len(pairs) for pairs in view.pictures.values()] == [2]
    assert render(summary).count('src="data:image/png;base64,') == 4
