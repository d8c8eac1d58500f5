"""How the numbers are made."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.method import method
from seepage.results.summary import VariantSettings
from tests.report.example import Reader, a_summary, a_vertical_summary


def test_rows_of_clients_are_matched_and_people_are_not() -> None:
    rows, people = Reader(render(a_summary())).text, Reader(render(a_vertical_summary())).text
    assert "0.319 of the client's own standard deviations" in rows
    assert "Hungarian matching" in rows
    assert "Hungarian matching" not in people
    assert "person by person" in people
    assert "the clients' own" not in people


def test_several_deviations_are_all_told() -> None:
    variants = [
        VariantSettings(name=name, dataset="clinic", settings={"deviation": name}) for name in ("client", "global")
    ]  # fmt: skip
    assert "(in some settings: of the whole data set's" in method(a_summary(variants=variants)).deviation
