"""What each defence against property inference costs."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.defence_cost import defence_cost
from tests.report.example import Reader, a_property_summary, models_made, plain


def test_each_defence_stands_beside_what_the_attack_still_reads() -> None:
    view = defence_cost(a_property_summary())
    assert view is not None
    without, noise = view.every
    assert (plain(without.label), without.epsilon, plain(noise.label), noise.epsilon) == (
        "no defence", "none promised", "weight_noise 0.1", "3.2",
    )  # fmt: skip
    assert without.attack is not None
    assert noise.attack is not None
    assert (without.attack.accuracy.mean, noise.attack.accuracy.mean) == (0.8, 0.25)
    assert view.delta == "1e-05"
    assert "It says nothing about a share of all rows" in Reader(render(a_property_summary())).text


def test_noise_that_promises_nothing_is_infinite() -> None:
    view = defence_cost(a_property_summary(models=[models_made(epsilon=None, delta=1e-5, rows_repeated=0.25)]))
    assert view is not None
    assert (view.every[0].epsilon, plain(view.every[0].repeated)) == ("infinite", "25 %")


def test_a_defence_whose_attack_did_not_finish_is_not_measured() -> None:
    page = render(a_property_summary(models=[models_made("top_k:share=0.1")]))
    assert "top_k 0.1 0.900 0.880 to 0.920 0.730 0.700 to 0.760 900 of 900 none none promised not measured" in (
        Reader(page).text
    )
