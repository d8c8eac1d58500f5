"""A reading is asked for in the same words on the command line, in a plan and in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.data.request import Request
from seepage.runs import command_line, make_plan, read_plan

TABLE = {"data": "patients.csv", "target": "died"}


def test_a_plan_and_python_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('data = "patients.csv"\ntarget = "died"\nas = { zip = "category", "born on" = "day_first" }\n')
    said = {"zip": "category", "born on": "day_first"}
    planned, called = make_plan(read_plan(path)), make_plan({**TABLE, "read_as": said})
    assert planned.variants[0].request == called.variants[0].request
    assert planned.fingerprint == called.fingerprint
    assert hash(planned.variants[0].request) == hash(called.variants[0].request)


def test_the_command_that_repeats_a_run_says_it() -> None:
    line = command_line(make_plan({**TABLE, "read_as": {"zip": "category", "born on": "day_first"}}))
    assert "--as zip=category --as 'born on=day_first'" in line


def test_tasks_keep_their_names_where_nothing_is_said() -> None:
    """Runs that were begun before the setting existed can be continued."""
    assert "read_as" not in Request(**TABLE).facts
    other = make_plan({**TABLE, "read_as": {"zip": "category"}})
    assert other.fingerprint != make_plan(TABLE).fingerprint


def test_a_word_that_is_none_is_told_before_anything_is_opened() -> None:
    with pytest.raises(InputError, match="Did you mean 'leave_out'"):
        make_plan({**TABLE, "read_as": {"zip": "leaveout"}})
