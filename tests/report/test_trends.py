"""Trends over defence and model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seepage.report import render, words
from seepage.report.gather import gather
from seepage.report.plots import trend as drawn
from seepage.report.trends import Trend
from seepage.results import Record
from tests.report.example import a_cell, a_summary, a_utility, records_of

NOISE = {"gaussian_noise:deviation=0.1": 0.3, "none": 0.9, "gaussian_noise:deviation=0.01": 0.7}


def plain(text: str) -> str:
    return text.replace(words.SPACE, " ")


def records(levels: dict[str, float], name: str = "defense", **more: Any) -> list[Record]:
    sizes = more.pop("batch_sizes", (1, 8))
    return [
        record
        for size in sizes
        for value, accuracy in levels.items()
        for record in records_of(a_cell(batch_size=size, **{name: value}, **more), 3, accuracy=accuracy)
    ]


def trend(dimension: str, found: list[Record], **changes: Any) -> Trend:
    trends = {trend.dimension: trend for trend in gather(a_summary(found, **changes)).trends}
    return trends[dimension]


def test_noise_is_an_axis_of_numbers_with_a_line_for_each_batch_size() -> None:
    found = trend("defense", records(NOISE))
    assert found.ticks == ("none", "0.01", "0.1")
    assert found.axis == "gaussian_noise, deviation"
    assert [plain(line.name) for line in found.series] == ["batch 1", "batch 8"]
    assert set(found.families) == {""}
    assert plain(found.sentence).startswith(
        "From no defence to gaussian_noise 0.1, the share of cells read fell from 9"
    )


def test_less_kept_is_stronger() -> None:
    levels = {"top_k:share=0.01": 0.4, "none": 0.9, "top_k:share=0.5": 0.8}
    assert trend("defense", records(levels)).ticks == ("none", "0.5", "0.01")


def test_different_defences_are_not_joined() -> None:
    levels = NOISE | {"dp_sgd:clip=1:noise=1": 0.2, "quantisation:bits=8": 0.88}
    found = trend("defense", records(levels))
    assert found.ticks == (
        "none", "gaussian_noise 0.01", "gaussian_noise 0.1", "dp_sgd clip 1, noise 1", "quantisation 8",
    )  # fmt: skip
    assert len(set(found.families)) == 4
    assert plain(found.sentence).startswith("Least was read with dp_sgd clip 1, noise 1, 19 %")
    plot = drawn(found)
    assert plot is not None
    assert plot.id == "plot-defense"
    line = json.loads(plot.data)["light"]["data"][0]
    assert [place for place, value in enumerate(line["x"]) if value is None] == [1, 4, 6]
    assert len(line["y"]) == len(line["error_y"]["array"]) == 8


def test_models_stand_in_the_order_of_their_size() -> None:
    levels = {"mlp:width=400:depth=3": 0.95, "mlp:width=50:depth=1": 0.4}
    utility = [
        a_utility(8, "untrained", 0, {"loss": 0.7}) | {"model": model, "parameters": size}
        for model, size in zip(levels, (360_000, 5_000), strict=True)
    ]
    found = trend("model", records(levels, "model", batch_sizes=(32,)), utility=utility)
    assert found.ticks == ("width 50, depth 1 (5,000)", "width 400, depth 3 (360,000)")
    assert found.axis == "mlp (number of parameters)"
    assert "rose from 4" in plain(found.sentence)
    without = trend("model", records(levels, "model", batch_sizes=(32,)))
    assert without.ticks == ("width 400, depth 3", "width 50, depth 1")


def test_many_lines_are_put_together_by_batch_size() -> None:
    found = [
        record
        for attack in ("tableak", "dlg", "sapag")
        for record in records(NOISE, attack=attack, batch_sizes=(1, 2, 4, 8))
    ]
    assert [plain(line.name) for line in trend("defense", found).series] == [
        f"batch {size}, worst of 3" for size in (1, 2, 4, 8)
    ]


def test_utility_tells_defences_apart() -> None:
    utility = [
        a_utility(8, point, 0, {"loss": 0.7, "roc_auc": score}) | {"defense": defense}
        for defense, score in (("none", 0.9), ("gaussian_noise:deviation=0.1", 0.6))
        for point in ("untrained", "best")
    ]
    found = records(NOISE, batch_sizes=(8,))
    view = gather(a_summary(found, utility=utility)).utility
    assert [plain(point.group) for point in view.points] == ["no defence"] * 2 + ["gaussian_noise 0.1"] * 2
    first, _, third, _ = view.points
    assert first.leak is not None
    assert third.leak is not None
    assert first.leak.mean > third.leak.mean + 0.4  # each with the leakage of its own defence
    assert '"name":"no defence"' in render(a_summary(found, utility=utility))


PROMISE = {
    "protocol": "fedsgd", "model": "mlp", "defense": "dp_sgd:noise=1", "batch_size": 8, "repeat": 0, "client": 0,
    "rounds": 30, "epsilon": 2.345, "delta": 1e-05, "steps": 30, "sampling_rate": 0.1,
}  # fmt: skip


def test_promises_are_one_line_for_all_clients() -> None:
    entries = [PROMISE, PROMISE | {"client": 1, "epsilon": 3.0}, PROMISE | {"batch_size": 1, "epsilon": None}]
    first, second = gather(a_summary(privacy=entries)).promises
    assert (plain(first.label), first.epsilon, first.clients) == ("batch 8 · dp_sgd 1", "2.35–3", 2)
    assert second.epsilon == "infinite: nothing is promised"
    assert "What differential privacy promises" in render(a_summary(privacy=entries))


@pytest.mark.parametrize("summary", [a_summary(), a_summary(privacy=[])])
def test_no_promise_no_heading(summary: Any) -> None:
    assert gather(summary).promises == ()
    assert "What differential privacy promises" not in render(summary)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mlp", "mlp"),
        ("mlp:width=8", "mlp width 8"),
        ("dp_sgd:clip=1:noise=2", "dp_sgd clip 1, noise 2"),
        (":", ""),
        ("<b>:=&:x", "<b> &, x"),
    ],
)
def test_a_spec_in_words(text: str, said: str) -> None:
    assert words.spec(text) == said
