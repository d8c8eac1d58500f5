"""Choices are judged by their worst case."""

from __future__ import annotations

from seepage.report.choices import choices_of, safest_of
from seepage.report.leaks import leaks_of
from tests.report.example import a_cell, a_summary, plain, records_of


def test_choices_are_judged_by_their_worst_case() -> None:
    choices = choices_of(leaks_of(a_summary()))
    assert [plain(choice.label) for choice in choices] == ["batch 32", "batch 8", "batch 1"]
    assert (choices[0].broken, choices[0].not_applicable, choices[0].measured) == (0, 2, 2)
    ranks = [choice.worst.rank for choice in choices if choice.worst]
    assert ranks == sorted(ranks)


def test_a_choice_whose_attack_broke_down_is_not_called_the_safest() -> None:
    broken = records_of(a_cell(batch_size=32), accuracy=0.5, exact=0.0)
    broken += records_of(a_cell(batch_size=32, attack="exact"), outcome="diverged")
    leaks = leaks_of(a_summary([*records_of(a_cell()), *broken]))
    assert [plain(choice.label) for choice in choices_of(leaks)] == ["batch 8", "batch 32"]
    safest = safest_of(leaks)
    assert safest is not None
    assert plain(safest.label) == "batch 8"


def test_one_choice_is_not_the_safest_of_any() -> None:
    assert safest_of(leaks_of(a_summary(records_of(a_cell())))) is None


def test_a_spent_budget_is_told_beside_the_choice_that_looks_safer() -> None:
    spent = records_of(a_cell(batch_size=32), accuracy=0.7, exact=0.1, outcome="budget_spent")
    safer, other = choices_of(leaks_of(a_summary([*records_of(a_cell()), *spent])))
    assert (plain(safer.label), safer.spent) == ("batch 32", True)
    assert (plain(other.label), other.spent) == ("batch 8", False)
