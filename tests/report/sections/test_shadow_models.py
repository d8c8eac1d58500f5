"""The models behind a property study."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.shadow_models import shadow_models
from tests.report.example import Reader, a_property_summary, models_made


def test_models_that_were_too_bad_are_counted() -> None:
    assert "no defence 400 40 3 0.910 0.740 0 0" in Reader(render(a_property_summary())).text


def test_models_below_the_gate_are_named() -> None:
    poor = models_made(failing_shadows=244, failing_targets=range(30), learned_nothing=7)
    page = Reader(render(a_property_summary(models=(poor,)))).text
    assert "Quality gate: 274 of 440 models (62 %), 30 of them targets" in page.replace("62%", "62 %")
    assert "7 of 440 models learned nothing beyond guessing" in page
    assert "The targets among them: 0, 1, 2" in page
    assert "18, 19 and 10 more." in page


def test_without_models_there_is_no_section() -> None:
    assert shadow_models(a_property_summary(models=())) is None
