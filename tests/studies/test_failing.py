"""An attack that raises is a claim with a reason; a record that could not be written is not."""

from __future__ import annotations

import pytest

from seepage._core import NotApplicable, NotWritten, Outcome
from seepage.studies.failing import ended


def test_an_attack_that_cannot_says_why() -> None:
    claim = ended(NotApplicable("It has no first layer."), object())
    assert (claim.outcome, claim.note) == (Outcome.NOT_APPLICABLE, "It has no first layer.")


def test_an_attack_that_breaks_is_failed_without_its_message() -> None:
    try:
        raise ValueError("a cell of the table")
    except ValueError as error:
        claim = ended(error, object())
    assert claim.outcome == Outcome.FAILED
    assert "ValueError" in claim.note
    assert "a cell of the table" not in claim.note


def test_a_record_that_could_not_be_written_goes_on() -> None:
    with pytest.raises(NotWritten):
        ended(NotWritten("The disk is full."), object())
