"""Which shares are confused."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.confusion import confusion
from tests.report.example import Reader, a_property_cell, a_property_summary, plain, property_records


def test_a_matrix_for_the_best_loss_of_every_cut() -> None:
    view = confusion(a_property_summary())
    assert view is not None
    assert plain(view.first.label) == "no defence"
    two, four = view.first.every
    assert two.ranges == ("0 to 50 %", "50 to 100 %")
    assert "loss sor" in four.caption
    assert "80 % of all models lie on the diagonal" in plain(four.caption)
    assert [plain(other.label) for other in view.others] == ["weight_noise 0.1"]


def test_cells_are_percent_of_the_row_and_shaded() -> None:
    view = confusion(a_property_summary(property_records(a_property_cell(classes=2), 0.75, targets=40)))
    assert view is not None
    (matrix,) = view.first.every
    first, second = matrix.rows[0]
    assert (first.text, first.shade, second.text, second.shade) == ("75", "u4", "25", "u1")


def test_the_matrix_is_a_table_with_headings_on_both_sides() -> None:
    page = render(a_property_summary())
    assert page.count('class="heat matrix"') == 3
    assert "True Named 0 to 50 % 50 to 100 %" in Reader(page).text


def test_without_a_number_there_is_no_section() -> None:
    assert confusion(a_property_summary([])) is None
