"""The threat model is on every page."""

from __future__ import annotations

import pytest

from seepage.report import render
from seepage.results import Summary
from seepage.results.facts import ThreatModel
from tests.report.example import Reader, a_summary, every_study


@pytest.mark.parametrize("summary", every_study().values(), ids=every_study())
def test_every_page_says_who_attacks_and_what_it_knows(summary: Summary) -> None:
    text = Reader(render(summary)).text
    assert "Who attacks An honest-but-curious server that follows the protocol" in text
    assert "What they do not know Any row." in text


def test_what_is_not_stated_is_said_to_be_so() -> None:
    text = Reader(render(a_summary(threat_model=ThreatModel()))).text
    assert text.count("Nothing is stated.") == 4
