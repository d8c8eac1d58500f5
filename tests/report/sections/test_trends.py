"""Trends over batch size, moment, defence and model."""

from __future__ import annotations

import json

from seepage.report.sections.trends import Trend, trends
from seepage.results import Record
from seepage.results.rows import Utility
from tests.report.example import (
    a_cell,
    a_summary,
    a_utility,
    a_vertical_cell,
    a_vertical_summary,
    plain,
    records_of,
    vertical_records,
)

NOISE = {"gaussian_noise:deviation=0.1": 0.3, "none": 0.9, "gaussian_noise:deviation=0.01": 0.7}


def records(
    levels: dict[str, float], name: str = "defense", sizes: tuple[int, ...] = (1, 8), **more: object
) -> list[Record]:
    return [
        record
        for size in sizes
        for value, accuracy in levels.items()
        for record in records_of(a_cell(**({"batch_size": size, name: value} | more)), 3, accuracy=accuracy)
    ]


def trend(dimension: str, every: list[Record], utility: list[Utility] | None = None) -> Trend:
    view = trends(a_summary(every, utility=utility or ()))
    assert view is not None
    return {each.dimension: each for each in view.every}[dimension]


def test_a_usual_run() -> None:
    view = trends(a_summary())
    assert view is not None
    size, moment = view.every
    assert size.ticks == ("1", "8", "32")
    assert len(size.series) == 4
    assert plain(size.sentence).startswith("From batches of one row to batches of 32, the share of cells read fell")
    assert moment.ticks == ("untrained (0.0)", "best (6.5)")


def test_one_value_of_everything_has_no_trend() -> None:
    assert trends(a_summary(records_of(a_cell()))) is None
    assert trends(a_summary([])) is None


def test_many_lines_become_their_upper_edge() -> None:
    every = [r for m in range(9) for b in (1, 8) for r in records_of(a_cell(model=f"m{m}", batch_size=b), 2)]
    assert [line.name for line in trend("batch_size", every).series] == ["worst of 9 settings"]
    assert len(trend("model", every).series) == 2


def test_noise_is_an_axis_of_numbers_with_a_line_for_each_batch_size() -> None:
    shown = trend("defense", records(NOISE))
    assert shown.ticks == ("none", "0.01", "0.1")
    assert shown.axis == "gaussian_noise, deviation"
    assert [plain(line.name) for line in shown.series] == ["batch 1", "batch 8"]
    assert set(shown.families) == {""}
    assert plain(shown.sentence).startswith(
        "From no defence to gaussian_noise 0.1, the share of cells read fell from 9"
    )


def test_less_kept_is_stronger() -> None:
    levels = {"top_k:share=0.01": 0.4, "none": 0.9, "top_k:share=0.5": 0.8}
    assert trend("defense", records(levels)).ticks == ("none", "0.5", "0.01")


def test_different_defences_are_not_joined() -> None:
    levels = NOISE | {"dp_sgd:clip=1:noise=1": 0.2, "quantisation:bits=8": 0.88}
    shown = trend("defense", records(levels))
    assert shown.ticks == (
        "none", "gaussian_noise 0.01", "gaussian_noise 0.1", "dp_sgd clip 1, noise 1", "quantisation 8",
    )  # fmt: skip
    assert len(set(shown.families)) == 4
    assert plain(shown.sentence).startswith("Least was read with dp_sgd clip 1, noise 1, 19 %")
    assert shown.figure is not None
    assert shown.figure.name == "plot-defense"
    line = json.loads(shown.figure.data)["data"][0]
    assert [place for place, value in enumerate(line["x"]) if value is None] == [1, 4, 6]
    assert len(line["y"]) == len(line["error_y"]["array"]) == 8


def test_models_stand_in_the_order_of_their_size() -> None:
    levels = {"mlp:width=400:depth=3": 0.95, "mlp:width=50:depth=1": 0.4}
    utility = [
        a_utility(8, "untrained", 0, {"loss": 0.7}, model=model, parameters=size)
        for model, size in zip(levels, (360_000, 5_000), strict=True)
    ]
    every = records(levels, "model", sizes=(32,))
    shown = trend("model", every, utility)
    assert shown.ticks == ("width 50, depth 1 (5,000)", "width 400, depth 3 (360,000)")
    assert shown.axis == "mlp (number of parameters)"
    assert "rose from 4" in plain(shown.sentence)
    assert trend("model", every).ticks == ("width 400, depth 3", "width 50, depth 1")


def test_many_lines_are_put_together_by_batch_size() -> None:
    every = [
        record for attack in ("tableak", "dlg", "sapag") for record in records(NOISE, attack=attack, sizes=(1, 2, 4, 8))
    ]
    assert [plain(line.name) for line in trend("defense", every).series] == [
        f"batch {size}, worst of 3" for size in (1, 2, 4, 8)
    ]


def test_vertical_learning_has_people_and_batches() -> None:
    cells = [a_vertical_cell(people=people, batches=people) for people in (60, 30)]
    view = trends(a_vertical_summary([record for cell in cells for record in vertical_records(cell)]))
    assert view is not None
    assert [(each.dimension, each.ticks) for each in view.every] == [
        ("people", ("30", "60")), ("batches", ("30", "60")),
    ]  # fmt: skip


def test_a_dimension_without_a_number_has_no_plot() -> None:
    every = [r for size in (1, 8) for r in records_of(a_cell(batch_size=size), 2, outcome="failed")]
    shown = trend("batch_size", every)
    assert shown.figure is None
    assert shown.sentence == "No setting was measured at both ends, so they cannot be compared."


def test_a_change_within_the_intervals_is_said_to_be_so() -> None:
    close, far = ({"none": 0.9, "gaussian_noise:deviation=0.1": level} for level in (0.88, 0.3))
    assert trend("defense", records(close)).sentence.endswith(", within the intervals.")
    assert "within the intervals" not in trend("defense", records(far)).sentence
