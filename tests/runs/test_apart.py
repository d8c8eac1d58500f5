"""The report of a training between machines: what the host knows, and nothing that it cannot know."""

from __future__ import annotations

from pathlib import Path

import pytest

from seepage.federation.network.programs import open_host
from seepage.results import Run, read_summary
from seepage.results.training import TrainingSummary
from seepage.runs.apart import write_report_of
from tests.federation.network.parties import doors, host_config, people, write_configs, write_files


def test_the_host_judges_and_reports(tmp_path: Path) -> None:
    names = ("hospital", "lab")
    write_files(tmp_path, people(200), names, shuffled=True)
    write_configs(tmp_path, names, plain=True)
    with doors(tmp_path, ("lab",)) as opened:
        config = host_config(tmp_path, {"lab": opened["lab"].address})
        with open_host(config) as (party, _):
            model = party.train()
            told = write_report_of(config, party, model, tmp_path / "hospital.toml")
    summary = read_summary(Run(config.folder / "report"))
    assert isinstance(summary, TrainingSummary)
    (cell,) = summary.cells
    assert (cell.design, cell.guests) == ("tabvfl", 2)
    assert summary.apart == ("lab",)
    assert {column.name for column in summary.dataset.columns} == {"x0", "x1"}
    own = cell.mean("quality/own", "accuracy")
    assert own == pytest.approx(float(told[0].split("accuracy ")[1].split(",")[0]), abs=5e-4)
    page = (config.folder / "report" / "report.html").read_text()
    assert "Those of lab are known there only" in page
    assert "x2" not in summary.to_json()  # a name of the laboratory's columns
