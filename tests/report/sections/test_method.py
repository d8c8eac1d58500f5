"""How the numbers are made."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.method import method
from seepage.results.facts import VariantSettings
from tests.report.example import Reader, a_summary, a_vertical_summary


def test_rows_of_clients_are_matched_and_people_are_not() -> None:
    rows, people = Reader(render(a_summary())).text, Reader(render(a_vertical_summary())).text
    assert "0.319 of the client's own standard deviations" in rows
    assert "Hungarian matching" in rows
    assert "Hungarian matching" not in people
    assert "one by one" in people
    assert "the clients' own" not in people


def test_the_intervals_of_one_federation_say_what_they_lack() -> None:
    one = a_summary()
    several = one.model_copy(update={"cells": tuple(c.model_copy(update={"federations": 3}) for c in one.cells)})
    alone = one.model_copy(update={"cells": tuple(c.model_copy(update={"federations": 1}) for c in one.cells)})
    assert not method(several).one_federation
    assert method(alone).one_federation
    assert "lack the variance between trainings" in Reader(render(alone)).text
    assert "lack the variance" not in Reader(render(several)).text


def test_several_deviations_are_all_told() -> None:
    variants = [
        VariantSettings(name=name, dataset="clinic", settings={"deviation": name}) for name in ("client", "global")
    ]  # fmt: skip
    assert "(in some settings: of the whole data set's" in method(a_summary(variants=variants)).deviation
