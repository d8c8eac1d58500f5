"""What can work, as the page says it."""

from __future__ import annotations

from typing import Any

from seepage.report import render, words
from seepage.report.applicability import MANY, gather_applicability
from tests.report.example import a_summary
from tests.report.test_render import HOSTILE, Reader


def an_entry(**changes: Any) -> dict[str, Any]:
    """One choice with two parts of the attacks."""
    usual = {
        "protocol": "fedsgd", "model": "mlp:width=8", "defense": "none", "batch_size": 8, "rows": 8, "steps": 1,
        "stops": "Exact reading ends at 12 rows.",
        "findings": [
            {"what": "Which categories occur", "verdict": "works", "why": "Columns of zeros tell."},
            {"what": "Optimisation", "verdict": "partly", "why": "Many unknowns."},
        ],
    }  # fmt: skip
    return usual | changes


def test_names_the_model_the_batch_and_what_differs() -> None:
    view = gather_applicability([an_entry(), an_entry(defense="top_k:share=0.1", rows=1, steps=2)])
    assert view is not None
    assert [choice.label.replace(words.SPACE, " ") for choice in view.choices] == [
        "mlp width 8 · batch 8 · no defence",
        "mlp width 8 · batch 8 · top_k 0.1",
    ]
    assert view.choices[1].behind.replace(words.SPACE, " ") == "1 row and 2 local steps"
    assert view.parts == ("Which categories occur", "Optimisation")
    assert [part.badge for part in view.choices[0].parts] == ["leaks", "some"]


def test_a_summary_from_before_says_nothing() -> None:
    assert gather_applicability([]) is None
    page = render(a_summary())
    assert "#applicability" not in page


def test_one_choice_shows_its_reasons_at_once() -> None:
    page = render(a_summary(applicability=[an_entry()]))
    text = Reader(page).text
    assert "Which attacks can work here, and why" in text
    assert "mlp width 8 · batch 8 : 8 rows and 1 local step behind an update." in text.replace(words.SPACE, " ")
    assert "Which categories occur works Columns of zeros tell." in text
    assert "Exact reading ends at 12 rows." in text
    assert "The reasons, choice by choice" not in text


def test_many_choices_are_folded_below_an_overview() -> None:
    page = render(a_summary(applicability=[an_entry(batch_size=size) for size in range(1, MANY + 2)]))
    assert "The reasons, choice by choice" in page
    assert page.count('class="reasons"') == MANY + 1
    reader = Reader(page)
    assert reader.count("table") == reader.count("caption")
    assert all("scope" in attributes for tag, attributes in reader.elements if tag == "th")


def test_html_in_it_is_escaped() -> None:
    finding = {"what": HOSTILE, "verdict": HOSTILE, "why": HOSTILE}
    page = render(a_summary(applicability=[an_entry(model=HOSTILE, stops=HOSTILE, findings=[finding])] * 2))
    assert "<script>alert" not in page
    assert Reader(page).count("b") == 0
