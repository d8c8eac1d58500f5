"""Where the numbers come from."""

from __future__ import annotations

import pytest

from seepage.report import render
from seepage.report.sections.repeat import repeat
from seepage.results import Summary
from seepage.results.facts import VariantSettings
from tests.report.example import Reader, a_summary, every_study


@pytest.mark.parametrize("summary", every_study().values(), ids=every_study())
def test_every_page_can_be_repeated(summary: Summary) -> None:
    text = Reader(render(summary)).text
    assert summary.command in text
    about = ("Seed 7", "Table fingerprint a1b2c3d4e5f60718", "Begun 2031-05-06 07:08:09 UTC", f"Study {summary.study}")
    data = ("torch 2.13.0", "patient_id a different value in every row", "3 % of the cells were empty.")
    for said in (*about, *data):
        assert said in text


def test_variants_and_all_seeds_are_told() -> None:
    variants = [
        VariantSettings(name="", dataset="clinic", settings={}),
        VariantSettings(name="seed=8", dataset="adult", settings={"seed": 8, "schema": {"categories": ["SECRET"]}}),
    ]
    summary = a_summary(variants=variants)
    assert dict(repeat(summary).about)["Seed"] == "7, 8"
    text = Reader(render(summary)).text
    assert "The 2 variants of the plan" in text
    assert "seed=8 adult seed 8" in text
    assert "SECRET" not in text
