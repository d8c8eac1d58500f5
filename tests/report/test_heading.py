"""What stands above the first section."""

from __future__ import annotations

import pytest

from seepage.report import render
from seepage.report.heading import heading_of
from seepage.results import Summary
from tests.report.example import every_study, plain

TITLES = {
    "rows": ("Leakage audit of clinic", "120 attacks in 12 settings."),
    "vertical": ("Leakage audit of clinic, vertical learning", "6 attacks in 2 settings."),
    "property": ("Property inference on clinic", "160 readings in 4 settings."),
    "training": ("Vertical training of clinic", "12 trainings in 4 settings."),
    "servers": ("A server that cheats: clinic", "12 attacks in 4 settings."),
    "parties": ("What parties read of each other: clinic", "12 attacks in 4 settings."),
    "cohorts": ("What sums over cohorts give away: clinic", "12 attacks in 4 settings."),
    "updates": ("Leakage audit of the captured updates clinic", "5 attacks in 2 settings."),
}


@pytest.mark.parametrize(("study", "summary"), every_study().items())
def test_every_study_is_named(study: str, summary: Summary) -> None:
    heading = heading_of(summary)
    title, amount = TITLES[study]
    assert heading.title == title
    assert plain(heading.lead).startswith("12,000 rows, 6 input columns; the model predicts died")
    assert plain(heading.lead).endswith(amount)
    assert plain(heading.facts) == (
        "Run begun 6 May 2031, 07:08 UTC; table fingerprint a1b2c3d4e5f60718; Seepage 0.1.0."
    )


def test_a_table_cannot_bring_style() -> None:
    summary = every_study()["rows"]
    name = '"; } body { display: none } </style><script>x</script>\\'
    hostile = summary.model_copy(update={"dataset": summary.dataset.model_copy(update={"name": name, "digest": name})})
    page = render(hostile)
    style = page[page.index("<style>") : page.index("</style>")]
    assert "display: none }" not in style[style.index("@bottom-left") :]
    assert page.count("</style>") == 1
