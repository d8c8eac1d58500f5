"""What stands above the first section."""

from __future__ import annotations

import pytest

from seepage.report.heading import heading_of
from seepage.results import Summary
from tests.report.example import every_study, plain

TITLES = {
    "rows": ("Leakage audit of clinic", "120 attacks in 12 settings."),
    "vertical": ("Leakage audit of clinic, vertical learning", "6 attacks in 2 settings."),
    "property": ("Property inference on clinic", "160 readings in 4 settings."),
    "training": ("Vertical training of clinic", "12 trainings in 4 settings."),
}


@pytest.mark.parametrize(("study", "summary"), every_study().items())
def test_every_study_is_named(study: str, summary: Summary) -> None:
    heading = heading_of(summary)
    title, amount = TITLES[study]
    assert heading.title == title
    assert plain(heading.lead).startswith("12,000 rows, 6 input columns; the model predicts died")
    assert plain(heading.lead).endswith(amount)
