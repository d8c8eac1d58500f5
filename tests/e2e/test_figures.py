"""Figures of the docs that are drawn from numbers in the repository."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_confusions", ROOT / "docs" / "draw_confusions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_confusion_matrices_are_fresh(drawing: ModuleType) -> None:
    cells = json.loads(drawing.COUNTS.read_text())
    assert drawing.FIGURE.read_text() == drawing.figure(cells), "stale: run `python docs/draw_confusions.py`"
    assert all(sum(map(sum, cell["confusion"])) == 1280 for cell in cells)


def test_a_run_s_summary_can_be_drawn(drawing: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = {"classes": 4, "loss": "sor", "confusion": [[2 * (a == b) for a in range(4)] for b in range(4)]}
    other = {"classes": 4, "loss": "nll", "confusion": [[1] * 4] * 4}
    summary = {
        "cells": [
            cell | {"defense": "none", "hierarchy": ""},
            other | {"defense": "none", "hierarchy": "2x2"},
            other | {"defense": "epochs:3", "hierarchy": ""},
        ]
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    monkeypatch.setattr(drawing, "COUNTS", tmp_path / "counts.json")
    monkeypatch.setattr(drawing, "FIGURE", tmp_path / "figure.svg")
    drawing.main([str(tmp_path / "summary.json")])
    assert json.loads((tmp_path / "counts.json").read_text()) == [cell]
    assert "sor, 4 ranges: 100 % right" in (tmp_path / "figure.svg").read_text()
