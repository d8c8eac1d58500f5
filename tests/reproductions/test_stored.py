"""Stored tables: what is written is read again, and what is wrong with a file is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.reproductions import Comparison, ReproducedTable, read_table
from seepage.reproductions.joining import check_fits, store
from seepage.reproductions.stored import BYTES, PlanRun

CELL = Comparison(place={"batch": "8"}, metric="accuracy", ours=0.5, trials=3, published=0.4, spread=0.1)
RUN = PlanRun(plan="terms", study="vertical", settings={"people": 800}, seed=0, tables={}, created="", versions={})
TABLE = ReproducedTable(
    paper="cafe",
    table="2",
    title="CAFE and its competitors",
    command="seepage reproduce cafe --table 2",
    scale=0.25,
    created="2026-11-17T00:00:00+00:00",
    runs=(RUN,),
    cells=(CELL,),
)


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    file = store(TABLE, tmp_path, part=False)
    assert file == tmp_path / "cafe" / "2.json"
    assert read_table(file) == TABLE


def test_the_distance_to_the_paper_is_in_its_deviations() -> None:
    assert CELL.deviations == pytest.approx(1.0)
    assert CELL.model_copy(update={"spread": None}).deviations is None
    assert CELL.model_copy(update={"ours": None}).deviations is None


def changed(**values: object) -> str:
    return json.dumps(json.loads(TABLE.model_dump_json()) | values)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "cannot be read"),
        (changed(more=1), "more"),
        (changed(version=2), "version"),
        (changed(scale=7), "scale"),
        (changed(title="x" * 500), "title"),
        (changed(cells=[json.loads(CELL.model_dump_json()) | {"ours": "NaN"}]), "ours"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "2.json"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_table(file)


def test_files_that_are_too_large_or_not_there_are_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "2.json"
    file.write_bytes(b" " * (BYTES + 1))
    with pytest.raises(InputError, match="at most"):
        read_table(file)
    with pytest.raises(InputError, match="No such file"):
        read_table(tmp_path / "3.json")


def test_a_name_cannot_lead_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="file's name"):
        store(TABLE.model_copy(update={"table": "../2"}), tmp_path, part=False)
    assert list(tmp_path.iterdir()) == []


def part_of(batch: str, ours: float, **values: object) -> ReproducedTable:
    """A part of the table: one batch size, all of whose cells have the attack in common."""
    cell = CELL.model_copy(update={"place": {}, "ours": ours})
    run = RUN.model_copy(update={"settings": {"batch_size": int(batch)}})
    changes = {
        "command": f"seepage reproduce cafe --table 2 --only batch_size={batch}", "created": f"2026-11-{batch}",
        "common": {"attack": "cafe", "batch": batch}, "cells": (cell,), "runs": (run,), "differs": ("Less.",),
    }  # fmt: skip
    return TABLE.model_copy(update=changes | values)


def test_parts_add_up_to_a_table_and_the_later_one_counts(tmp_path: Path) -> None:
    for batch, ours in (("10", 0.1), ("20", 0.2), ("10", 0.3)):
        file = store(part_of(batch, ours), tmp_path, part=True)
    whole = read_table(file)
    assert whole.common == {"attack": "cafe"}
    assert {cell.place["batch"]: cell.ours for cell in whole.cells} == {"10": 0.3, "20": 0.2}
    assert [run.settings["batch_size"] for run in whole.runs] == [10, 20]
    assert [line.split("=")[1] for line in whole.command.splitlines()] == ["10", "20"]
    assert (whole.created, whole.differs) == ("2026-11-10", ("Less.",))


def test_parts_that_come_in_any_order_stand_by_batch_size(tmp_path: Path) -> None:
    for batch in ("32", "128", "8"):
        file = store(part_of(batch, 0.1), tmp_path, part=True)
    assert [cell.place["batch"] for cell in read_table(file).cells] == ["8", "32", "128"]


def test_a_table_of_many_parts_is_read_again(tmp_path: Path) -> None:
    for batch in range(10, 70):
        file = store(part_of(str(batch), 0.1), tmp_path, part=True)
    whole = read_table(file)
    assert (len(whole.command.splitlines()), len(whole.runs)) == (60, 60)


def test_the_whole_table_replaces_its_parts(tmp_path: Path) -> None:
    store(part_of("10", 0.1), tmp_path, part=True)
    assert read_table(store(TABLE, tmp_path, part=False)) == TABLE


@pytest.mark.parametrize(("scale", "seed"), [(1.0, 0), (0.25, 3)])
def test_a_part_of_other_work_is_told_before_it_is_done(tmp_path: Path, scale: float, seed: int) -> None:
    file = store(TABLE, tmp_path, part=False)
    check_fits(file, 0.25, 0)
    check_fits(tmp_path / "none.json", scale, seed)
    with pytest.raises(InputError, match="does not go with it"):
        check_fits(file, scale, seed)
    assert read_table(file) == TABLE
