"""Sections are found by themselves: adding one needs two files and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seepage.report import render, sections
from seepage.report.section import all_sections
from seepage.results.summary import Summary
from tests.report.example import HOSTILE, Reader, a_property_summary, a_summary

CODE = """
from dataclasses import dataclass
from seepage.report.section import Section
from seepage.results.rows import RowsSummary

@dataclass(frozen=True)
class Weather:
    sentence: str

def weather(summary):
    return Weather(summary.name) if summary.cells else None

SECTION = Section(
    name="weather", title="How is the weather?", short="Weather", studies=(RowsSummary,), place=15, view=weather,
    warning="It may rain.",
)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    if hasattr(sections, "weather"):
        del sections.weather


def test_two_files_add_a_section(folder: Path) -> None:
    (folder / "weather.py").write_text(CODE, encoding="utf-8")
    (folder / "weather.html").write_text("<p>In {{ view.sentence }} it is fine.</p>\n", encoding="utf-8")
    page = Reader(render(a_summary(name=HOSTILE)))
    assert page.sections[:4] == ["verdict", "next_steps", "weather", "attacks"]
    assert "How is the weather? In </script><script>alert(1)" in page.text  # escaped, as all that a template shows
    assert page.text.count("It may rain.") == 1
    assert "weather" not in Reader(render(a_property_summary())).sections  # it is for another study
    assert "weather" not in Reader(render(a_summary([]))).sections  # it has nothing to say


def test_a_file_without_a_section_of_its_name_is_told(folder: Path) -> None:
    (folder / "weather.py").write_text(CODE.replace('name="weather"', 'name="climate"'), encoding="utf-8")
    with pytest.raises(TypeError, match=r"weather\.py must declare SECTION"):
        all_sections()


def test_every_section_is_two_files_and_has_a_place() -> None:
    every = all_sections()
    names = {section.name for section in every}
    files = [path for path in Path(sections.__path__[0]).iterdir() if path.is_file() and path.name != "__init__.py"]
    assert {path.name for path in files} == {f"{name}{ending}" for name in names for ending in (".py", ".html")}
    for kind in {kind for section in every for kind in section.studies if kind is not Summary}:
        places = [section.place for section in every if issubclass(kind, section.studies)]
        assert len(set(places)) == len(places), f"two sections of {kind.__name__} have one place"
