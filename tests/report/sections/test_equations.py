"""How a server reads rows in vertical learning."""

from __future__ import annotations

from seepage.report.sections.equations import equations
from tests.report.example import a_vertical_cell, a_vertical_summary, plain, vertical_records


def test_every_setting_has_its_own_people_and_batches() -> None:
    cells = [a_vertical_cell(), a_vertical_cell(people=90, batches=45)]
    view = equations(a_vertical_summary([record for cell in cells for record in vertical_records(cell)]))
    assert view is not None
    assert [(reading.people, reading.batches) for reading in view.readings] == [(60, 66), (90, 45)]
    enough, fewer = map(plain, view.sentences)
    assert enough.startswith("The server saw 66 batches of 60 aligned rows. That is at least one batch for each row")
    assert "fewer than there are rows" in fewer
    assert "It protects nobody" in fewer  # FINDINGS C1: that many batches are a limit of CAFE, not of an attacker


def test_what_the_attack_says_is_there() -> None:
    view = equations(a_vertical_summary())
    assert view is not None
    assert (view.readings[0].determined, view.readings[0].psnr) == (1.0, 140.0)
    assert view.readings[0].note == "60 rows are determined."
