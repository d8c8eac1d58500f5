"""The page of an answer: complete in one file, and its picture is read without a pointer."""

from __future__ import annotations

import re
from dataclasses import replace

from seepage.report.advice_page import AdvicePage, Remark, render_advice
from seepage.report.frontier_picture import Dot, Limit, picture
from seepage.results import Interval


def dot(number: str, name: str, gain: float, *, best: bool = False, chosen: bool = False) -> Dot:
    leak, utility = Interval(gain, gain - 0.01, gain + 0.01), Interval(0.8 - gain, 0.5, 1.2)
    return Dot(number=number, name=name, told=(f"{name} told",), leak=leak, utility=utility, best=best, chosen=chosen)


DOTS = (dot("1", "noise", 0.0, best=True, chosen=True), dot("2", "<b>none</b>", 0.4))
LIMITS = (Limit("leak", 0.05, "at most 5 %"), Limit("utility", 0.7, "at most 0.05 lost"))


def page() -> str:
    return render_advice(
        AdvicePage(
            table="clinic", facts="Answered today.", headline="Recommended: noise.", confirmed=True,
            answer=("Costs: little.", ""),
            limits=(Remark("Not tested: other models."), Remark("Leaked: a; and 1 more.", ("<i>b</i>",))),
            headings=("", "setting"),
            rows=(("1", "noise"), ("2", "<b>none</b>")), legend="Columns.", dots=DOTS, allowed=LIMITS, score="ROC AUC",
            frameworks={"Flower": "x = '<1>'"}, plan="data = 'clinic'", command="seepage advise --data clinic",
        )
    )  # fmt: skip


def test_every_dot_is_reached_by_keyboard_and_tells_its_name_and_numbers() -> None:
    found = re.findall(r'<g class="dot ([^"]*)" tabindex="0" role="img" aria-label="([^"]*)">', page())
    assert sorted(found) == sorted(
        [("best chosen", "1. noise: noise told"), ("", "2. &lt;b&gt;none&lt;/b&gt;: &lt;b&gt;none&lt;/b&gt; told")]
    )


def test_a_filed_page_says_when_and_how_it_was_made_and_folds_long_lists() -> None:
    text = page()
    assert "Answered today." in text
    assert "<pre><code>seepage advise --data clinic</code></pre>" in text
    assert "<details><summary>The other 1</summary><p>&lt;i&gt;b&lt;/i&gt;.</p></details>" in text
    assert text.count("<details>") == 1


def test_intervals_of_both_numbers_are_drawn_inside_the_frame() -> None:
    drawn = str(picture(DOTS, LIMITS, "ROC AUC"))
    assert drawn.count('<g class="bars" clip-path="url(#frame)"><line') == 2
    assert drawn.count('class="limit"') == 2
    assert not picture((), LIMITS, "ROC AUC")


def test_an_answer_that_few_updates_stand_behind_looks_like_one() -> None:
    assert "chosen unsure" not in page()
    assert 'class="dot best chosen unsure"' in picture((replace(DOTS[0], sure=False), DOTS[1]), LIMITS, "ROC AUC")


def test_a_lone_measurement_has_no_bars() -> None:
    lone = Dot(
        number="1", name="a", told=(), leak=Interval(0.1, None, None), utility=Interval(0.8, None, None), best=True
    )
    assert '<g class="bars" clip-path="url(#frame)"></g>' in picture((lone,), (), "R²")


def test_the_page_is_complete_and_nothing_in_it_is_markup_of_a_name() -> None:
    text = page()
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", text)
    assert "<b>none" not in text
    assert "<script" not in text
    assert "script-src &#39;none&#39;" in text
    assert "x = &#39;&lt;1&gt;&#39;" in text
