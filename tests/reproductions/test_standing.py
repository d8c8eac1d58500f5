"""Where cells stand beside the paper, and what is kept by hand about tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.reproductions.causes import Cause, read_causes
from seepage.reproductions.standing import Standing, Verdict, standing, verdict
from seepage.reproductions.stored import Comparison
from seepage.reproductions.transcribed import Pairing, TranscribedTable


def cell(ours: float | None, published: float | None = 10.0, data: str = "adult", **rest: float) -> Comparison:
    trials = 0 if ours is None else 3
    return Comparison.model_validate(
        {"place": {"data": data}, "metric": "accuracy", "ours": ours, "published": published, "trials": trials} | rest
    )


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (cell(11.0, spread=1.0), Verdict.WITHIN),
        (cell(11.1, spread=1.0), Verdict.ABOVE),
        (cell(8.9, spread=1.0, low=8.0, high=12.0), Verdict.BELOW),  # the paper's deviation goes before our interval
        (cell(9.0, low=8.0, high=10.0), Verdict.WITHIN),
        (cell(9.0, low=8.0, high=9.9), Verdict.BELOW),
        (cell(10.1, spread=0.0, low=9.9, high=10.3), Verdict.WITHIN),  # rounded to nothing: as if there were none
        (cell(10.1), Verdict.ABOVE),
        (cell(10.0), Verdict.WITHIN),
        (cell(None), Verdict.FAILED),
        (cell(9.0, published=None), Verdict.ALONE),
        (cell(9.0, data="covertype_three (for Private multiclass)"), Verdict.ALONE),
    ],
)
def test_a_cell_is_judged_by_the_rule(given: Comparison, wanted: Verdict) -> None:
    assert verdict(given) is wanted


def test_only_cells_beside_a_published_number_are_counted() -> None:
    cells = [cell(10.0), cell(12.0), cell(7.0), cell(6.0), cell(None), cell(1.0, published=None)]
    assert standing(cells) == Standing(cells=5, within=1, above=1, below=2, failed=1, weaker=2, clearly=2)
    both = standing(cells) + standing([cell(10.0)])
    assert both == Standing(cells=6, within=2, above=1, below=2, failed=1, weaker=2, clearly=2)


def test_a_larger_error_is_weaker_and_a_smaller_one_is_not() -> None:
    errors = [each.model_copy(update={"metric": "mse"}) for each in (cell(12.0), cell(7.0), cell(10.0))]
    assert standing(errors) == Standing(cells=3, within=1, above=1, below=1, weaker=1, clearly=1)


def test_numbers_that_describe_are_neither_weaker_nor_stronger() -> None:
    cells = [cell(12.0), cell(7.0)]
    assert standing(cells, describes=True) == Standing(cells=2, above=1, below=1)


def test_weaker_is_clear_where_our_interval_does_not_reach_the_published_number() -> None:
    cells = [cell(8.0, spread=1.0, low=6.0, high=high) for high in (9.9, 10.0)]
    assert standing(cells) == Standing(cells=2, below=2, weaker=2, clearly=1)


@pytest.mark.parametrize("metric", ["entropy_num", "data_share_cat"])
def test_doubt_is_neither_weaker_nor_stronger(metric: str) -> None:
    doubts = [each.model_copy(update={"metric": metric}) for each in (cell(12.0), cell(7.0))]
    assert standing(doubts) == Standing(cells=2, above=1, below=1, weaker=0)


def transcribed(*rows: tuple[str, ...]) -> TranscribedTable:
    columns = tuple(f"c{place}" for place in range(len(rows[0])))
    return TranscribedTable(transcribed=True, source="a page", title="a table", columns=columns, rows=rows)


def test_pairs_of_a_transcribed_table_are_numbers_with_what_is_known_of_them() -> None:
    table = transcribed(("8", "99.1 ± 1.5", "95.1 ± 9.2"), ("16", "-", "89.5 ± 7.6"), ("32", "0.5 (0.4 to 0.6)", "0.7"))
    first, last = Pairing(file="x", columns=((1, 2),)).cells(table)
    assert (first.ours, first.published, first.spread, first.low) == (99.1, 95.1, 9.2, None)
    assert (last.ours, last.published, last.low, last.high) == (0.5, 0.7, 0.4, 0.6)


def test_cells_that_hold_both_numbers_are_parted() -> None:
    table = transcribed(("a", "0.66 (0.6 to 0.7) / 0.675 ± 0.03"), ("b", "88 % , thesis 90"), ("c", "1,200 / 1,300"))
    (first,) = Pairing(file="x", within=(1,), rows=(0, 1)).cells(table)
    assert (first.ours, first.published, first.spread, first.high) == (0.66, 0.675, 0.03, 0.7)
    (second,) = Pairing(file="x", within=(1,), between="thesis", rows=(1, 2), half=6.0).cells(table)
    assert (second.low, second.high, second.published) == (82.0, 94.0, 90.0)
    (third,) = Pairing(file="x", within=(1,), rows=(2, 3)).cells(table)
    assert (third.ours, third.published) == (1200.0, 1300.0)


def test_what_is_not_explained_lists_what_was_tried(tmp_path: Path) -> None:
    assert Cause(tried=("one", "another")).words() == "Not explained. Tried: one; another."
    file = tmp_path / "causes.toml"
    file.write_text('[papers.tableak]\nnot_run = "x"\n[papers.tableak.tables.1.stored.above]\nwhy = ""\n')
    with pytest.raises(InputError, match="needs `why`, or `tried`"):
        read_causes(file)
