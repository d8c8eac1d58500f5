"""Every table of every paper: its plans are valid, and every published number has its cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from seepage.reproductions import NAMES, Paper, PaperTable, Workload, find_paper
from seepage.reproductions.published import Published, numbers_of
from seepage.reproductions.readings import READINGS
from seepage.reproductions.running import plan_file, plans_of
from seepage.runs import make_plan, read_plan
from tests.reproductions.imagined import imagined

PLANS = Path(__file__).parents[2] / "src" / "seepage" / "reproductions" / "plans"
TABLES = [(find_paper(name), table) for name in NAMES for table in find_paper(name).tables]
EVERY = pytest.mark.parametrize(("paper", "table"), TABLES, ids=[f"{p.name}-{t.number}" for p, t in TABLES])
# Data sets that only the user's own file can give.
NOT_HERE = {"Intrusion", "Rice MSC", "Air Passenger Satisfaction"}


@pytest.mark.parametrize("file", sorted(PLANS.glob("*/*.toml")), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_plan_file_is_a_plan_and_belongs_to_a_table(file: Path) -> None:
    assert make_plan({"data": "clinic"} | read_plan(file)).tasks
    used = {part.plan for table in find_paper(file.parent.name).tables for part in table.plans}
    assert file.stem in used


@EVERY
def test_every_table_can_be_planned_whole_and_quick(paper: Paper, table: PaperTable) -> None:
    for scale in (1.0, paper.quick):
        for plan in plans_of(paper, table, Workload(scale=scale)):
            assert make_plan(plan.scaled.values).tasks
            assert bool(plan.scaled.less) == (scale < 1 and plan.name not in _unscaled(table))


def _unscaled(table: PaperTable) -> set[str]:
    return {part.plan for part in table.plans if not part.scaled}


@EVERY
def test_every_number_of_a_table_has_its_cell(paper: Paper, table: PaperTable) -> None:
    cells = [cell for result in imagined(paper, table) for cell in READINGS[table.reading](result)]
    beside = [cell.published for cell in cells if cell.published is not None]
    printed = [
        number for number in numbers_of(paper.numbers, table.stands_in or table.number) if _told(number, paper, table)
    ]
    if table.number == "own" or table.number.startswith("figure-"):  # drawn, not printed
        assert not printed
        assert cells
        return
    assert printed
    assert {number.value for number in printed} == set(beside)
    assert len(beside) >= len(printed)


def _told(number: Published, paper: Paper, table: PaperTable) -> bool:
    """Whether we have a cell for it."""
    if paper.name == "cafe":
        other = number.dataset not in ("MNIST", "not stated") or "step" in number.setting
        before = number.table == "8" and number.setting.get("iterations") == "0"
        return not other and not before and number.metric != "iterations_max"
    if paper.name == "property":
        if table.number.endswith("-mismatch") and number.setting["shadow_epochs"] != "10":
            return False
        on_shadows = number.setting.get("evaluated_on") == "shadow"
        return on_shadows == table.number.endswith("-shadows") and number.value is not None
    if paper.name == "tabvfl":
        return number.dataset not in NOT_HERE or number.table == "IV"
    random = number.method == "Random" and number.metric != "accuracy"
    return not random and number.setting.get("entropy_bucket") != "overall"


def test_the_plans_of_a_clone_are_those_of_the_package() -> None:
    root = Path(__file__).parents[2] / "reproductions"
    linked = {path.name: path.resolve() for path in root.iterdir() if path.name != "results"}
    assert linked == {path.name: path.resolve() for path in PLANS.iterdir()}
    assert plan_file(find_paper("cafe"), "terms").is_file()
