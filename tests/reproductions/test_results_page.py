"""docs/results.md: fresh, every table from a file, every file on the page, and files that are what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from seepage._core import InputError
from seepage.reproductions import find_paper, read_table
from seepage.reproductions.causes import read_causes
from seepage.reproductions.paper import NAMES
from seepage.reproductions.published import numbers_of
from seepage.reproductions.transcribed import read_transcribed
from tests.loading import module_at

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproductions" / "results"
STORED = sorted(file for file in RESULTS.glob("*/*.json") if file.parent.name != "earlier")
PAPERS = sorted((ROOT / "docs" / "papers").glob("*.md"))
EARLIER = sorted((RESULTS / "earlier").glob("*.json"))


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return module_at(ROOT / "docs" / "generate_results.py")


def table_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_page_is_fresh(generator: ModuleType) -> None:
    assert generator.PAGE.read_text() == generator.page(), "docs/results.md is stale: run `make docs`"


def test_every_line_of_a_table_comes_from_a_file(generator: ModuleType) -> None:
    assert table_lines(generator.TEMPLATE.read_text()) == []
    places = [
        (place["file"], place["across"] or "") for place in generator.PLACE.finditer(generator.TEMPLATE.read_text())
    ]
    made = {line for name, across in places for line in table_lines(generator.rendered(name, across))}
    made |= set(table_lines(generator.standings()))
    on_page = table_lines(generator.PAGE.read_text())
    assert len(on_page) > 200
    assert set(on_page) == made


def test_every_file_is_on_the_page_once(generator: ModuleType) -> None:
    named = [place["file"] for place in generator.PLACE.finditer(generator.TEMPLATE.read_text())]
    assert sorted(named) == sorted(f"{file.parent.name}/{file.stem}" for file in (*STORED, *EARLIER))
    assert "{{" not in generator.PAGE.read_text()


@pytest.mark.parametrize("file", STORED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_stored_run_is_of_its_table_and_its_published_numbers_are_the_papers(file: Path) -> None:
    table = read_table(file)
    assert (table.paper, table.table) == (file.parent.name, file.stem)
    paper = find_paper(table.paper)
    shown = paper.table(table.table)
    printed = {number.value for number in numbers_of(paper.numbers, shown.stands_in or shown.number)}
    beside = {cell.published for cell in table.cells if cell.published is not None}
    assert bool(beside) is bool(printed)  # of some figures the paper prints no number
    assert beside <= printed
    assert all(cell.trials > 0 or cell.reason for cell in table.cells)
    assert all(run.versions and run.tables and run.created for run in table.runs)


@pytest.mark.parametrize("file", [*STORED, *EARLIER], ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_file_names_no_place_of_the_machine_that_made_it(file: Path) -> None:
    assert not re.search(r"/(home|root|tmp|work|Users|var)/", file.read_text())


def test_every_table_of_every_paper_has_its_line(generator: ModuleType) -> None:
    lines = [line.split(" | ") for line in table_lines(generator.standings())]
    for name in NAMES:
        for table in find_paper(name).tables:
            mine = [line for line in lines if line[0] == f"| **{table.number}** {table.title}"]
            assert mine, f"{name} {table.number}"
            run = {re.split("[,:]", line[1])[0].removesuffix(" in part") for line in mine}
            assert ("stored" in run) == (RESULTS / name / f"{table.number}.json").exists()
            assert run <= {"stored", "transcribed", "not run"}
            assert all(line[-1].removesuffix(" |") for line in mine if line[1].startswith("not run")), mine


def test_no_difference_is_left_without_a_cause(generator: ModuleType) -> None:
    page = generator.PAGE.read_text()
    assert "no cause is kept" not in page, (
        "docs/causes.toml says nothing of cells that differ, or speaks of an older run"
    )
    unknown = re.compile(r"not explained|unexplained|(not|nobody) knows? why|(un|not )known why|no explanation", re.I)
    for line in (line for text in (page, *map(Path.read_text, PAPERS)) for line in text.splitlines()):
        if unknown.search(line):
            assert re.search(r"Tried: \S", line), f"says that a cause is not known, and not what was tried: {line}"


def test_every_paper_has_a_page_of_one_screen_that_begins_with_the_reader() -> None:
    assert sorted(page.stem for page in PAPERS) == sorted(NAMES)
    for page in PAPERS:
        text = page.read_text()
        assert len(text.split()) <= 450, page.name  # its height is measured by tests/e2e/test_site.py
        assert text.split("\n")[0].endswith(": what differs and why")
        assert text.split("\n")[2].startswith("**The question:**")


def test_options_that_papers_pages_name_exist() -> None:
    commands = (ROOT / "docs" / "reference" / "cli.md").read_text()
    for page in PAPERS:
        for option in set(re.findall(r"`(--[a-z][a-z-]+)", page.read_text())):
            assert re.search(rf"{option}\b", commands), f"{page.name}: {option}"


def test_notes_are_of_tables_that_exist(generator: ModuleType) -> None:
    for name, notes in read_causes(ROOT / "docs" / "causes.toml").papers.items():
        assert {*notes.tables, *notes.hours} <= {table.number for table in find_paper(name).tables}


def test_transcribed_tables_say_so_on_the_page(generator: ModuleType) -> None:
    page = generator.PAGE.read_text()
    stored, earlier = page.split("# Earlier runs, transcribed\n")
    assert "Transcribed from" not in stored
    from_page = [file for file in EARLIER if "docs/results.md at 4234ccd" in file.read_text()]
    assert earlier.count("Transcribed from docs/results.md at 4234ccd.") == len(from_page)
    assert earlier.count("Transcribed from a run that was not kept.") == len(EARLIER) - len(from_page)
    assert stored.count("```text\nseepage reproduce") == stored.count("A stored run, begun") == len(STORED)


def test_a_transcribed_file_that_is_not_one_is_told(tmp_path: Path) -> None:
    good = json.loads(EARLIER[0].read_text())
    for name, changes, sentence in (
        ("a", {"transcribed": False}, "transcribed"),
        ("b", {"rows": [["one cell"]]}, "as many cells"),
        ("c", {"more": 1}, "more"),
    ):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(good | changes))
        with pytest.raises(InputError, match=sentence):
            read_transcribed(file)
