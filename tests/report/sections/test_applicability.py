"""What can work, as the page says it."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.applicability import MANY, applicability
from seepage.results.rows import Applicability
from tests.report.example import Reader, a_summary, plain


def an_entry(**changes: object) -> Applicability:
    """One choice with two parts of the attacks."""
    usual: dict[str, object] = {
        "protocol": "fedsgd", "model": "mlp:width=8", "defense": "none", "batch_size": 8, "rows": 8, "steps": 1,
        "stops": "Exact reading ends at 12 rows.",
        "findings": [
            {"what": "Which categories occur", "verdict": "works", "why": "Columns of zeros tell."},
            {"what": "Optimisation", "verdict": "partly", "why": "Many unknowns."},
        ],
    }  # fmt: skip
    return Applicability.model_validate(usual | changes)


def test_names_the_model_the_batch_and_what_differs() -> None:
    entries = [an_entry(), an_entry(defense="top_k:share=0.1", rows=1, steps=2)]
    view = applicability(a_summary(applicability=entries))
    assert view is not None
    assert [plain(choice.label) for choice in view.choices] == [
        "mlp width 8 · batch 8 · no defence",
        "mlp width 8 · batch 8 · top_k 0.1",
    ]
    assert plain(view.choices[1].behind) == "1 row and 2 local steps"
    assert view.parts == ("Which categories occur", "Optimisation")
    assert [view.badge(part) for part in view.choices[0].parts] == ["leaks", "some"]


def test_what_cannot_work_is_not_green() -> None:
    findings = [{"what": "x", "verdict": "cannot", "why": "y"}]
    view = applicability(a_summary(applicability=[an_entry(findings=findings)]))
    assert view is not None
    assert view.badge(view.choices[0].parts[0]) == ""


def test_a_summary_may_say_nothing() -> None:
    assert applicability(a_summary()) is None
    assert "#applicability" not in render(a_summary())


def test_one_choice_shows_its_reasons_at_once() -> None:
    text = Reader(render(a_summary(applicability=[an_entry()]))).text
    assert "Which attacks can work here, and why" in text
    assert "mlp width 8 · batch 8: 8 rows and 1 local step behind an update." in text
    assert "Which categories occur works Columns of zeros tell." in text
    assert "Exact reading ends at 12 rows." in text
    assert "The reasons, choice by choice" not in text


def test_many_choices_are_folded_below_an_overview() -> None:
    page = render(a_summary(applicability=[an_entry(batch_size=size) for size in range(1, MANY + 2)]))
    assert "The reasons, choice by choice" in page
    assert page.count('class="reasons"') == MANY + 1
