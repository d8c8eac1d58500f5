"""Which defences held."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.defences import defences
from seepage.results.defended import Defended
from tests.report.example import a_cell, a_summary, plain, records_of


def test_a_defence_is_judged_by_the_better_of_two_attackers() -> None:
    naive = a_cell(defense="gaussian_noise:deviation=0.01", attack="fast")
    knowing = a_cell(defense="gaussian_noise:deviation=0.01", attack="adaptive:chains=8")
    summary = a_summary([*records_of(naive, accuracy=0.5), *records_of(knowing, accuracy=0.95)])
    view = defences(summary)
    assert view is not None
    (line,) = view.every
    assert line.verdict is Defended.BROKEN
    assert line.naive is not None
    assert line.adaptive is not None
    assert line.adaptive.mean > line.naive.mean
    assert plain(line.label) == "batch 8 · gaussian_noise 0.01"
    assert "Which defences held?" in render(summary)
    assert "Held is said of" not in render(summary)


def test_what_neither_reads_is_held_and_names_its_adversary() -> None:
    cells = [a_cell(defense="dp_sgd:noise=9", attack=name) for name in ("fast", "adaptive")]
    summary = a_summary([record for cell in cells for record in records_of(cell, accuracy=0.2, exact=0.0)])
    view = defences(summary)
    assert view is not None
    assert view.every[0].verdict is Defended.HELD
    assert "An honest-but-curious server" in view.adversary
    assert "Held is said of" in render(summary)


def test_a_failed_attack_shows_nothing() -> None:
    fast, knowing = (a_cell(defense="top_k:0.1", attack=name) for name in ("fast", "adaptive"))
    weak = records_of(fast, accuracy=0.2, exact=0.0)
    failed = defences(a_summary([*weak, *records_of(knowing, outcome="failed")]))
    assert failed is not None
    assert failed.every[0].said == "not tested: the adaptive attack failed"
    absent = defences(a_summary(weak))
    assert absent is not None
    assert absent.every[0].said == "not tested: adaptive was not run"


def test_no_defence_no_section() -> None:
    assert defences(a_summary()) is None
    assert "Which defences held?" not in render(a_summary())
