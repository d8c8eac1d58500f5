"""The models behind a property study."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.shadow_models import shadow_models
from tests.report.example import Reader, a_property_summary


def test_models_that_were_too_bad_are_counted() -> None:
    assert "no defence 400 40 3 0.910 0.740 60 %" in Reader(render(a_property_summary())).text


def test_without_models_there_is_no_section() -> None:
    assert shadow_models(a_property_summary(models=())) is None
