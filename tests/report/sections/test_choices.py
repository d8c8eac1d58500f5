"""Which settings are safer."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.choices import choices
from tests.report.example import Reader, a_cell, a_summary, a_vertical_summary, records_of


def test_safer_is_not_called_safe() -> None:
    text = Reader(render(a_summary())).text
    assert "Safer among the tested is not the same as safe" in text
    assert "2 of 4 (2 not applicable)" in text


def test_vertical_learning_has_choices_too() -> None:
    view = choices(a_vertical_summary())
    assert view is not None
    assert [choice.label for choice in view.every] == ["fake_gradients", "no\u00a0defence"]


def test_one_choice_cannot_be_compared() -> None:
    assert "none can be called safer than another" in Reader(render(a_summary(records_of(a_cell())))).text
    assert choices(a_summary([])) is None
