"""What was not tested."""

from __future__ import annotations

from seepage.report import render
from seepage.results.facts import NotRun
from tests.report.example import Reader, a_summary, a_training_summary


def test_parts_of_the_plan_that_gave_no_number_are_listed_with_why() -> None:
    missing = [
        NotRun(what="adult, mlp, batch 500", reason="A client has 40 rows.", state="impossible"),
        NotRun(
            what="mlp, batch 9", reason="It stopped with an internal error: KeyError: 'SECRET-7731'", state="crashed"
        ),
        NotRun(what="mlp, batch 10", reason="It was not reached yet.", state="missing"),
    ]
    for summary in (a_summary(not_run=missing), a_training_summary(not_run=missing)):
        text = Reader(render(summary)).text
        assert "adult, mlp, batch 500 cannot be run A client has 40 rows." in text
        assert "mlp, batch 9 broke down An internal error stopped it" in text
        assert "SECRET-7731" not in text  # a message of Python's may hold a value
        assert "mlp, batch 10 not reached yet" in text
        assert "Secure aggregation." in text


def test_an_empty_list_is_not_called_complete() -> None:
    assert "That does not mean that everything was tested." in Reader(render(a_summary(not_tested=()))).text
