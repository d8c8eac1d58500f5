"""One of each kind of fault; `make fault-tests` makes all of them happen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load

from tests.faults import canaries, damage, writes
from tests.faults.__main__ import PAGE, STORED, with_table
from tests.faults.disk import FAULTS, FaultyDisk, used
from tests.faults.runs import SMALL, finished, small_plan
from tests.faults.tally import Tally


@pytest.fixture(scope="module", params=SMALL)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, int]:
    """A study's small run that nothing happened to, and how many calls it made that change the disk."""
    folder, counted = tmp_path_factory.mktemp(request.param), FaultyDisk()
    with used(counted):
        assert not finished(small_plan(request.param, folder), folder / "whole")
    return request.param, folder, counted.calls


def test_a_run_goes_on_after_any_fault_of_the_disk(whole: tuple[str, Path, int]) -> None:
    study, folder, calls = whole
    tally, plan = Tally(study), small_plan(study, folder)
    place = list(SMALL).index(study)
    for number, fault in enumerate(list(FAULTS.values())[place % 2 :: 2]):  # two studies share the kinds
        writes.failed_once(plan, folder, (number * 2 + 1) * calls // 8, fault, tally)
    assert tally.tried >= 2
    assert tally.clean, tally.told


def test_damage_is_noticed_and_mended(whole: tuple[str, Path, int]) -> None:
    study, folder, _ = whole
    tally, plan = Tally(study), small_plan(study, folder)
    every = list(damage.all_damage(folder / "whole"))
    place = list(SMALL).index(study)
    for file, kind in every[place :: len(every) // 3]:
        damage.damaged_once(plan, folder, "whole", file, kind, tally)
    assert tally.tried >= 3
    assert tally.clean, tally.told


def test_every_file_of_a_run_is_its_owners_alone(whole: tuple[str, Path, int]) -> None:
    _, folder, _ = whole
    run = folder / "whole"
    assert run.stat().st_mode & 0o777 == 0o700
    for path in run.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_no_value_of_a_table_is_left_or_shown(tmp_path: Path) -> None:
    tally = Tally("canaries")
    seconds = canaries.watched("rows", "this process", tmp_path / "home", tally, quick=True)
    canaries.watched("training", "this process", tmp_path / "home", tally, after=0.8 * seconds, quick=True)
    assert tally.tried == 2
    assert tally.clean, tally.told


@pytest.mark.parametrize("canary", canaries.CANARIES.values())
def test_a_canary_is_found_wherever_it_is(tmp_path: Path, canary: bytes) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "log").write_bytes(b"x" + canary + b"y")
    tally = Tally("canaries")
    canaries.searched(tmp_path, b"said " + canary, [], "planted", tally)
    assert tally.canaries == 2


def test_the_page_shows_the_faults_that_were_made() -> None:
    tallies = [Tally(**fields) for fields in json.loads(STORED.read_text())]
    assert with_table(PAGE.read_text(), tallies) == PAGE.read_text()
    assert all(tally.clean for tally in tallies)


def test_shadow_models_are_kept_and_their_rows_are_not(whole: tuple[str, Path, int]) -> None:
    study, folder, _ = whole
    kept = {name for file in (folder / "whole" / "files").glob("*") for name in load(file.read_bytes())}
    facts = {"shares", "labels", "accuracy", "balanced", "passed", "seeds"}
    assert {name.split(".")[0] for name in kept} == (facts | {"weights", "biases"} if study == "property" else set())
