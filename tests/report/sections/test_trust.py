"""What the attacker can trust without the truth."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from seepage.metrics.trust import doubt_measures
from seepage.report import render
from seepage.report.sections.trust import Trust, trust
from seepage.results import Record
from seepage.results.rows import RowsSummary
from tests.report.example import a_cell, a_record, a_summary, plain, records_of


def doubting(record: Record, doubt: np.ndarray, right: np.ndarray, guessed: np.ndarray | None = None) -> Record:
    """The record of an attacker who knows its doubt: three numbers, then three categories."""
    nothing = np.zeros_like(right) if guessed is None else guessed
    return dataclasses.replace(record, values=dict(record.values) | doubt_measures(doubt, right, nothing, 3))


def divided(rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Half of the rows are sure and right, the others doubted and wrong."""
    sure = np.arange(rows)[:, None] < rows // 2
    doubt = np.where(sure, [[-2.5, -2.5, -2.5, 0.1, 0.1, 0.1]], [[1.3, 1.3, 1.3, 0.9, 0.9, 0.9]])
    return doubt, np.repeat(sure, 6, axis=1)


def summary_of(
    doubt: np.ndarray, right: np.ndarray, guessed: np.ndarray | None = None, **changes: object
) -> RowsSummary:
    records = [doubting(record, doubt, right, guessed) for record in records_of(a_cell(), 2)]
    return a_summary(records, **changes)


def view_of(summary: RowsSummary) -> Trust:
    view = trust(summary)
    assert view is not None
    return view


def sentences(doubt: np.ndarray, right: np.ndarray, guessed: np.ndarray | None = None) -> list[str]:
    return [plain(group.sentence) for group in view_of(summary_of(doubt, right, guessed)).groups]


def test_without_doubt_there_is_no_section() -> None:
    assert trust(a_summary()) is None
    assert 'id="trust"' not in render(a_summary())


def test_the_sentence_is_computed_from_the_cells() -> None:
    categories, numbers = sentences(*divided())
    assert categories == (
        "Of the cells the attacker is surest of (50 % of all), 100 % are right; of those it doubts most (50 % of all), "
        "0 %. A guess from averages gets 0 % of the surest cells. "
        "So it knows which cells to believe, without ever seeing the truth."
    )
    assert numbers == categories


def test_cells_that_anybody_guesses_are_called_so() -> None:
    doubt, right = divided()
    assert all("cells that a guess gets about as well" in said for said in sentences(doubt, right, right))


@pytest.mark.parametrize(("right", "said"), [(True, "nearly always right"), (False, "says little here")])
def test_doubt_that_does_not_separate_is_called_so(right: bool, said: str) -> None:
    doubt, _ = divided()
    assert all(said in sentence for sentence in sentences(doubt, np.full(doubt.shape, right)))


def test_few_cells_are_no_ground_for_a_conclusion() -> None:
    assert all("too few cells" in said for said in sentences(*divided(4)))


def test_one_bucket_has_no_ends() -> None:
    doubt = np.full((4, 6), 0.1)
    for said in sentences(doubt, np.ones((4, 6), dtype=bool)):
        assert said.startswith("The attacker is about equally sure of all 24 cells: 100 % are right.")


def test_the_ends_hold_at_least_a_twentieth() -> None:
    doubt, right = divided()
    doubt[0, 3], right[0, 3] = 0.5, False
    doubt[1:20, 3:] = 0.3  # the surest bucket has 2 cells of 120, too few to speak of
    doubt[0, 4:] = 0.1
    surest = view_of(summary_of(doubt, right)).groups[0].surest
    assert (surest.buckets, surest.cells) == (2, 2 * (2 + 57))
    assert surest.attack == 1


def test_spreads_are_told_in_deviations() -> None:
    numbers = view_of(summary_of(*divided())).groups[1]
    assert [bar.label for bar in numbers.bars] == ["under 0.03", "0.77–1.2"]
    assert "standard deviations" in numbers.measure
    other = view_of(summary_of(*divided(), settings={"numbers": "minmax"})).groups[1]
    assert "units of the model inputs" in other.measure


def test_the_section_shows_the_worst_setting_and_lists_all() -> None:
    doubt, right = divided()
    large = records_of(a_cell(batch_size=32), 3, accuracy=0.6, exact=0, rows=32)
    records = [
        *(doubting(record, doubt, right) for record in [*large, *records_of(a_cell(batch_size=8), 3)]),
        *records_of(a_cell(batch_size=1), 3, accuracy=1.0, exact=1, rows=1),  # the worst, but without a doubt
        a_record(a_cell(batch_size=64), outcome="diverged"),
    ]
    view = view_of(a_summary(records))
    assert view.number == 2
    assert [row.number for row in view.settings] == [1, 1, 2, 2]
    text = render(a_summary(records))
    assert 'href="#trust"' in text
    assert len(re.findall('id="plot-trust-(?:categorical|numeric)"', text)) == 2


def test_only_categories_have_a_doubt_with_one_restart() -> None:
    doubt, right = divided()
    doubt[:, :3] = np.nan
    assert [group.kind for group in view_of(summary_of(doubt, right)).groups] == ["categorical"]
    assert "plot-trust-numeric" not in render(summary_of(doubt, right))
