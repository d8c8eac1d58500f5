"""Settings in words."""

from __future__ import annotations

from seepage.report.settings import settings_of, values_of
from seepage.results.facts import VariantSettings
from tests.report.example import a_summary

SETTINGS = {"seed": 7, "deviation": "client", "batch_sizes": [1, 8], "options": {"steps": "20"}, "nothing": None}


def test_deep_settings_are_left_out_for_they_may_hold_values() -> None:
    deep = {"schema": {"categories": ["SECRET"]}, "columns": [{"low": 3}], "lists": [[1, 2]]}
    shown = dict(settings_of(a_summary(settings=SETTINGS | deep)))
    assert shown == {
        "seed": "7", "deviation": "client", "batch_sizes": "1, 8", "options": "steps=20", "nothing": "none",
    }  # fmt: skip


def test_settings_that_vary_are_all_told() -> None:
    variants = [
        VariantSettings(name="a", dataset="clinic", settings={}),
        VariantSettings(name="b", dataset="clinic", settings={"deviation": "global", "seed": 8}),
    ]
    summary = a_summary(settings=SETTINGS, variants=variants)
    assert dict(settings_of(summary))["deviation"] == "client or global"
    assert values_of(summary, "seed") == [7, 8]
    assert values_of(summary, "unknown") == []
