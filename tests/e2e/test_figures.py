"""Figures of the docs that are drawn from numbers in the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from seepage.results import PropertyCell
from seepage.results.property import PropertyResult, PropertySummary
from tests.loading import module_at
from tests.reproductions.imagined import envelope, head

ROOT = Path(__file__).parents[2]


def result(loss: str, confusion: list[list[int]], **place: str) -> PropertyResult:
    cell = PropertyCell(
        dataset="d", property_text="a == 'b'", observed="weights", classes=4, loss=loss, reader="paths", **place
    )
    numbers = {"metrics": {}, "confusion": confusion, "chance": 0.25, "most_frequent": 0.25, "guessing_mse": 1.0}
    return PropertyResult.model_validate(envelope(cell) | numbers | {"calibration_error": 0.0, "epochs": 1})


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    return module_at(ROOT / "docs" / "draw_confusions.py")


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    return module_at(ROOT / "docs" / "generate_figures.py")


def test_the_figures_of_the_results_are_fresh_and_shown(figures: ModuleType) -> None:
    assert sorted(file.stem for file in figures.FIGURES.glob("*.svg")) == sorted(figures.MAKERS)
    results = (ROOT / "docs" / "results.md").read_text()
    for page in (ROOT / "docs" / "papers").glob("*.md"):  # one screen each, so not all of them
        shown = re.findall(r"figures/(\w+)\.svg", page.read_text())
        assert shown, f"{page.name} shows no figure"
        assert set(shown) <= {name for name in figures.MAKERS if name.startswith(page.stem)}, f"{page.name}: {shown}"
    for name, make in figures.MAKERS.items():
        kept = (figures.FIGURES / f"{name}.svg").read_text()
        assert kept == figures.drawn(make()), f"{name}.svg is stale: run `make docs`"
        if name != "rounds":  # no paper's
            assert f"figures/{name}.svg" in results, f"{name} is on the page of results"
    assert "figures/rounds.svg" in (ROOT / "docs" / "explanation" / "exact-inversion.md").read_text()


def test_a_figure_shows_what_the_stored_cells_say(figures: ModuleType) -> None:
    known, restored = figures.tableak_batches().panels
    ours, theirs = (series for series in known.series if series.name == "TabLeak")
    own = {"batch": "32", "attack": "TabLeak"}
    (cell, _) = figures.stored("tableak/1", **own, **{"labels known": "true"})  # the second is matched by distance
    (other, _) = figures.stored("tableak/1", **own, **{"labels known": "false"})
    assert restored.series[0].points["32"].value == other.ours != cell.ours
    assert (ours.points["32"].value, ours.points["32"].low) == (cell.ours, cell.low)
    assert (theirs.published, theirs.points["32"].value) == (True, cell.published)
    assert theirs.points["32"].high == cell.published + cell.spread


def test_the_confusion_matrices_are_fresh(drawing: ModuleType) -> None:
    cells = json.loads(drawing.COUNTS.read_text())
    assert drawing.FIGURE.read_text() == drawing.figure(cells), "stale: run `python docs/draw_confusions.py`"
    assert all(sum(map(sum, cell["confusion"])) == 1280 for cell in cells)


def test_a_run_s_summary_can_be_drawn(drawing: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = [[2 * (a == b) for a in range(4)] for b in range(4)]
    cells = [result("sor", right), result("nll", right, hierarchy="2x2"), result("nll", right, defense="epochs:3")]
    summary = PropertySummary.model_validate(head("property") | {"cells": cells})
    (tmp_path / "summary.json").write_text(summary.to_json())
    monkeypatch.setattr(drawing, "COUNTS", tmp_path / "counts.json")
    monkeypatch.setattr(drawing, "FIGURE", tmp_path / "figure.svg")
    drawing.main([str(tmp_path / "summary.json")])
    assert json.loads((tmp_path / "counts.json").read_text()) == [{"classes": 4, "loss": "sor", "confusion": right}]
    assert "sor, 4 ranges: 100 % right" in (tmp_path / "figure.svg").read_text()
