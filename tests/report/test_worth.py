from __future__ import annotations

import pytest

from seepage.report import render
from seepage.report.worth import constant, worthless
from seepage.results.rows import Utility
from tests.report.example import Reader, a_summary, a_utility, plain


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"f1": 0.0, "roc_auc": 0.52}, "F1 0.000: it answers no for every row"),
        ({"f1": 0.0, "roc_auc": 0.8}, "though it ranks rows (ROC AUC 0.800)"),
        ({"f1": 0.3, "roc_auc": 0.49}, "ROC AUC 0.490; chance gets 0.500"),
        ({"r2": -0.1}, "R² -0.100; the mean gets 0"),
        ({"recall_macro": 0.25}, "macro recall 0.250: it names one class"),
        ({"recall_macro": 0.31}, ""),
        ({"f1": 0.3, "roc_auc": 0.7}, ""),
        ({"f1": None, "loss": 0.5}, ""),
        ({}, ""),
    ],
)
def test_a_constant_is_told_from_a_model(scores: dict[str, float | None], said: str) -> None:
    found = constant(scores)
    assert said in found
    assert bool(found) == bool(said)


def trained(batch: int, f1: float) -> Utility:
    return a_utility(batch, "best", 0, {"f1": f1, "roc_auc": 0.6})


def test_the_verdict_remarks_models_that_are_worth_nothing() -> None:
    assert worthless(a_summary(utility=[trained(1, 0.4), trained(8, 0.5)])) == []
    (one,) = worthless(a_summary(utility=[trained(1, 0.4), trained(8, 0.0)]))
    assert plain(one).startswith("In 1 of 2 trainings the model is no better than a constant answer: batch 8 (F1 0.000")
    (every,) = worthless(a_summary(utility=[trained(8, 0.0)]))
    assert every.startswith("The model is no better than a constant answer (F1 0.000")
    ranks, answers = a_utility(8, "best", 0, {"f1": 0.0, "roc_auc": 0.6}), a_utility(1, "best", 0, {"f1": 0.0})
    (both,) = worthless(a_summary(utility=[answers, ranks]))
    assert "In both trainings" in both
    assert "batch 8 (F1 0.000: it answers no for every row, though it ranks rows" in plain(both)  # and batch 1 does not
    text = Reader(render(a_summary(utility=[trained(8, 0.0)]))).text
    assert text.count("no better than a constant") >= 2  # the verdict, and the table of scores
    assert "Train the model until it is worth something" in text
