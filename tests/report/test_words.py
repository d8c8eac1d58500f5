"""Numbers and names in words."""

from __future__ import annotations

import pytest

from seepage.report import words
from seepage.results import Interval
from tests.report.example import plain


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.9996, "over 99 %"), (0.0004, "under 1 %"), (0.555, "56 %"), (None, "–")],
)
def test_percent_never_rounds_to_all_or_nothing(share: float | None, text: str) -> None:
    assert plain(words.percent(share)) == text


def test_points_and_long_names() -> None:
    assert (words.points(0.344), words.points(-0.02), words.points(0.001)) == ("+34", "−2", "±0")
    assert words.shortened("a" * 100, 20) == "a" * 13 + "…" + "a" * 6
    assert words.shortened("short  name", 20) == "short name"


def test_a_lone_trial_has_no_ends() -> None:
    alone, both = Interval(0.5, None, None), Interval(0.5, 0.25, 0.75)
    assert (words.ends(alone), words.point_ends(alone), words.score_ends(alone), words.ends(None)) == ("", "", "", "")
    assert (words.ends(both), words.point_ends(both), words.score_ends(both)) == (
        "25–75", "+25 to +75", "0.250 to 0.750",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("amount", "text"), [(8, "8 B"), (999.6, "1 kB"), (101_000, "101 kB"), (2.5e6, "2.5 MB"), (3e12, "3,000 GB")]
)
def test_sizes(amount: float, text: str) -> None:
    assert plain(words.size(amount)) == text


@pytest.mark.parametrize(
    ("values", "text"), [([3, 3], "3"), ([3, 1500], "3–1,500"), ([0.1, 0.25], "0.1–0.25"), ([], "–")]
)
def test_spans(values: list[float], text: str) -> None:
    assert words.span(values) == text


@pytest.mark.parametrize(("value", "text"), [(0.91234, "0.912"), (14.51, "14.5"), (None, "–"), (float("nan"), "–")])
def test_scores(value: float | None, text: str) -> None:
    assert words.score(value) == text


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


def test_places_are_told_apart_by_what_differs() -> None:
    places = [{"model": "mlp", "batch_size": 8, "people": 60}, {"model": "mlp", "batch_size": 1, "people": 60}]
    assert words.varying(places) == ("batch_size",)
    assert words.varying(places, always=("people", "guests")) == ("people", "batch_size")
    assert words.varying(places[:1], otherwise=("model",)) == ("model",)
    assert plain(words.label(places[0], ("model", "people", "batch_size"))) == "mlp · 60 rows · batch 8"
    assert words.coordinate("something new", 3) == "3"
