from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from seepage.report import notebook_view
from seepage.report.drawing import drawn
from seepage.report.sections.attacks import attacks
from tests.report.example import HOSTILE, Reader, a_cell, a_summary, every_study, records_of

STUDIES = every_study()


@pytest.mark.parametrize("study", STUDIES)
def test_a_notebook_gets_the_verdict_plots_and_the_table_and_loads_nothing(study: str) -> None:
    page = notebook_view(STUDIES[study])
    reader = Reader(page)
    assert "“Leaks” means" in reader.text
    assert 1 <= reader.count("svg") <= 3
    assert reader.count("table") == 1
    assert reader.count("script") == 0
    assert reader.loads <= {""} | {v for v in reader.loads if v.startswith("M")}  # paths of a drawing are no addresses


def test_a_drawing_is_whole_and_has_a_point_for_every_number() -> None:
    summary = a_summary()
    figure = attacks(summary).figure
    assert figure is not None
    picture = ET.fromstring(drawn(figure))
    measured = sum(cell.measured for cell in summary.cells)
    assert len(picture.findall(".//circle")) == measured + 1  # and one in the legend
    words = [element.text for element in picture.iter() if element.tag.endswith("text")]
    assert "batch 1 · untrained · tableak   1" in [" ".join((word or "").split("\xa0")) for word in words]


def test_names_cannot_bring_html() -> None:
    page = notebook_view(a_summary([r for b in (1, 8) for r in records_of(a_cell(attack=HOSTILE, batch_size=b), 2)]))
    assert "<script" not in page
    assert "<b onclick" not in page


def test_nothing_measured_is_said() -> None:
    page = notebook_view(a_summary(records_of(a_cell(), 2, outcome="failed")))
    assert "Not measured." in Reader(page).text
    assert "<svg" not in page
