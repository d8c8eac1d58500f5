"""Two runs side by side, in words."""

from __future__ import annotations

import pytest

from seepage._core import InputError
from seepage.report.comparison import compared
from seepage.results import Summary
from tests.report.example import (
    a_cell,
    a_property_summary,
    a_summary,
    a_training_summary,
    every_study,
    plain,
    records_of,
    usual_trainings,
)


@pytest.mark.parametrize("summary", every_study().values(), ids=every_study())
def test_every_study_can_be_compared_with_itself(summary: Summary) -> None:
    both = compared(summary, summary)
    assert both.lines
    assert not any(line.clear for line in both.lines)
    assert not any("_" in line.what for line in both.lines)  # words, not the names of metrics
    assert (both.only_first, both.only_second) == (0, 0)


def test_what_became_worse_comes_first() -> None:
    one = a_summary([*records_of(a_cell(), accuracy=0.5, exact=0), *records_of(a_cell(batch_size=1))])
    two = a_summary([*records_of(a_cell(), accuracy=0.9, exact=0), *records_of(a_cell(batch_size=32))])
    both = compared(one, two)
    assert (both.lines[0].what, both.lines[0].clear) == ("cells read", True)
    assert plain(both.lines[0].change).startswith("+4")
    assert both.lines[-1].differs == "batch size 1 → 32"
    assert (both.only_first, both.only_second) == (0, 0)


def test_scores_are_not_shares() -> None:
    lines = compared(a_training_summary(), a_training_summary(usual_trainings())).lines
    assert {line.what for line in lines} >= {"F1, as published", "cells read by the host beyond guessing"}
    assert all("%" not in line.first for line in lines)


def test_two_studies_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="One run is of the study rows, the other of property"):
        compared(a_summary(), a_property_summary())
