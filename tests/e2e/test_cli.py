"""The command line as a user types it: real files, and real processes where one can differ from this one.

A new process takes seconds to load; what a second command of a test says is heard in this one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from seepage._core.files import unsealed
from seepage.cli.main import main
from tests import cases

FAST = [
    "--trials", "2", "--clients", "2", "--exposure", "0", "--attack-points", "initialized",
    "--batch-size", "2", "--attacks", "fast:restarts=2", "--attack-option", "steps=5",
]  # fmt: skip


def seepage(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "seepage", *words],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@dataclass(frozen=True)
class Ended:
    """How a command ended in this process, by the names that subprocess has."""

    returncode: int
    stdout: str
    stderr: str


Here = Callable[..., Ended]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Runs a command in this process, in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets these; this puts them back
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    def run(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["seepage", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    cases.frame().write_csv(path)
    return path


def test_an_audit_writes_a_run_and_says_where(table: Path, tmp_path: Path, here: Here) -> None:
    done = seepage("audit", "--data", "patients.csv", "--target", "target", "--out", "runs/first", *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "runs/first/report.html" in done.stdout
    assert "2 attacked batches per line" in done.stdout
    assert "rows exact" in done.stdout
    assert done.stderr.splitlines()[0] == "Reading patients.csv ..."
    assert "target target (2 classes)" in done.stderr
    assert "\x1b" not in done.stderr  # no bar in a pipe
    assert (tmp_path / "runs/first/report.html").stat().st_size > 100_000
    other = [*FAST, "--seed", "7"]
    again = here("audit", "--data", "patients.csv", "--target", "target", "--out", "runs/first", *other)
    assert again.returncode == 2
    assert "holds a run with other settings" in again.stderr
    assert here("report", "runs/first").returncode == 0


def test_json_is_alone_on_stdout_and_the_command_repeats_it(table: Path, tmp_path: Path, here: Here) -> None:
    done = seepage("audit", "--data", "patients.csv", "--target", "target", "--json", *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema_version"] == 3
    assert document["cells"][0]["trials"] == 2
    assert unsealed(Path(tmp_path, document["path"], "summary.json").read_bytes()) == done.stdout.encode()
    words = document["command"].split()[1:]
    repeated = json.loads(here(*words, "--json", "--out", "again").stdout)
    assert repeated["cells"][0]["metrics"] == document["cells"][0]["metrics"]


def test_clinic_needs_no_network(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "SEEPAGE_CACHE": str(tmp_path / "cache")}
    for name, value in nowhere.items():
        monkeypatch.setenv(name, value)
    done = here("audit", "--data", "clinic", *FAST, "--out", "r")
    assert done.returncode == 0, done.stderr
    assert "clinic: 5,000 rows" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["audit", "--data", "nothing.csv", "--target", "x"], "There is no file nothing.csv"),
        (["audit", "--data", "notes.txt", "--target", "x"], "is not a table"),
        (["audit", "--data", "patients.csv"], "Name it with --target"),
        (["audit", "--data", "patients.csv", "--target", "targte"], "Did you mean 'target'"),
        (["audit", "--data", "constant.csv", "--target", "y"], "the same value in every row"),
        (["audit", "--data", "empty.csv", "--target", "y", "--as", "b=number"], "No cell of column 'b'"),
        (["audit", "--data", "distinct.csv", "--target", "y", "--as", "note=date"], "--as note=leave_out"),
        (["audit", "--data", "distinct.csv", "--target", "y", "--as", "note=text"], "Unknown reading of column 'note'"),
        (["audit", "--data", "twice.csv", "--target", "y"], "more than one column named 'a'"),
        (["audit", "--data", "nan.csv", "--target", "y"], "NaN or infinite"),
        (["audit", "--data", "patients.csv", "--target", "target", "--batch-size", "500"], "larger than the smallest"),
        (["audit", "--data", "patients.csv", "--target", "target", "--batch-size", "many"], "must be a whole number"),
        (["audit", "--data", "patients.csv", "--target", "target", "--clients", "500"], "use fewer clients"),
        (["audit", "--data", "patients.csv", "--target", "target", "--model", "tabnt"], "Did you mean 'tabnet'"),
        (["audit", "--data", "patients.csv", "--target", "target", "--attacks", "gradient"], "gradient_matching"),
        (["audit", "--data", "patients.csv", "--target", "target", "--model-option", "width"], "name=value"),
        (["audit", "--data", "patients.csv", "--target", "target", "--task", "binry"], "Did you mean 'binary'"),
        (["audit", "--data", "adlut"], "Did you mean 'adult'"),
        (["audit", "--data", "patients.csv", "--schema", "other.toml"], "does not fit the table"),
        (["audit"], "Name it with --data, or in a plan"),
        (["audit", "--plan", "none.toml"], "There is no plan none.toml"),
        (["audit", "--plan", "other.toml"], "Unknown setting of the study rows in the plan other.toml: 'columns'"),
        (["audit", "--data", "patients.csv", "--target", "target", "--defense", "gausian_noise"], "gaussian_noise'?"),
        (["audit", "--data", "patients.csv", "--target", "target", "--defense", "top_k:7"], "above 0 and at most 1"),
        (["audit", "--data", "patients.csv", "--target", "target", "--attacks", "dlg:step=7"], "Did you mean 'steps'"),
        (["report", "nowhere"], "is not a run folder"),
        (["data", "fetch", "adlut"], "Did you mean 'adult'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    words: list[str], message: str, table: Path, tmp_path: Path, here: Here
) -> None:
    write_bad_tables(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = here(*words)
    assert done.returncode == 2
    *told, last = done.stderr.splitlines()
    assert last.startswith("error: ")
    # What was read is told before it is found out that it cannot be attacked.
    assert all(line.startswith("  ") or "input column" in line for line in told)
    assert message in done.stderr
    assert done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def write_bad_tables(folder: Path) -> None:
    rows = 12
    good = {"a": list(range(rows)), "b": [i % 3 for i in range(rows)], "y": [i % 2 for i in range(rows)]}
    pl.DataFrame(good | {"y": [1] * rows}).write_csv(folder / "constant.csv")
    pl.DataFrame(good | {"b": [None] * rows}).write_csv(folder / "empty.csv")
    pl.DataFrame(good | {"note": [f"text {i * 37}" for i in range(rows)]}).write_csv(folder / "distinct.csv")
    (folder / "twice.csv").write_text("a,a,y\n1,2,0\n3,4,1\n")
    (folder / "nan.csv").write_text("a,b,y\n1.5,2,0\ninf,4,1\n2.5,4,0\n")
    (folder / "notes.txt").write_text("just words\nand more\n")
    (folder / "other.toml").write_text(
        '[target]\nname = "y"\ntask = "binary"\nclasses = ["0", "1"]\n'
        '[[columns]]\nname = "zzz"\nkind = "numeric"\nlow = 0\nhigh = 1\n'
    )


def test_no_network_falls_back_and_says_so(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "SEEPAGE_CACHE": str(tmp_path / "cache")}
    nowhere |= {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    for name, value in nowhere.items():
        monkeypatch.setenv(name, value)
    refused = here("audit", "--data", "california_housing", *FAST, "--out", "a")
    assert refused.returncode == 2
    assert "--source file" in refused.stderr or "--path" in refused.stderr
    words = ["audit", "--data", "california_housing", "--fallback", "clinic", *FAST, "--out", "b", "--json"]
    done = here(*words)
    assert done.returncode == 0, done.stderr
    assert "clinic was audited instead" in done.stderr
    document = json.loads(done.stdout)
    assert document["dataset"]["name"] == "clinic"
    assert "clinic was audited instead" in document["dataset"]["notes"][0]
    assert "--data clinic" in document["command"]


def test_help_version_and_env(tmp_path: Path, here: Here) -> None:
    assert "audit" in here("--help").stdout
    assert seepage("--version", cwd=tmp_path).stdout.strip() == "0.1.0"
    facts = json.loads(here("env", "--json").stdout)
    assert {"python", "torch", "cores"} <= set(facts)


def test_a_schema_can_be_written_edited_and_given_back(table: Path, tmp_path: Path, here: Here) -> None:
    done = here("data", "schema", "patients.csv", "--target", "target", "--out", "s.toml")
    assert done.returncode == 0, done.stderr
    schema = tmp_path / "s.toml"
    schema.write_text(schema.read_text().replace('name = "age"', 'name = "age"\nsensitive = true'))
    words = ["audit", "--data", "patients.csv", "--schema", "s.toml", "--json", *FAST]
    document = json.loads(here(*words).stdout)
    assert [c["name"] for c in document["dataset"]["columns"] if c["sensitive"]] == ["age"]


def test_a_bug_keeps_its_traceback(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['seepage', 'env']\n"
        "from seepage.cli import env, main\n"
        "main.app.registered_commands[-1].callback = lambda: 1 / 0\n"
        "main.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


@pytest.mark.parametrize("told", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
def test_a_run_that_is_told_to_end_says_how_to_go_on(table: Path, tmp_path: Path, told: signal.Signals) -> None:
    words = ["audit", "--data", "patients.csv", "--target", "target", "--out", "run", "--trials", "4000"]
    words += ["--clients", "2", "--exposure", "0", "--attacks", "tableak:compile=no", "--batch-size", "8", "--yes"]
    before = signal.signal(told, signal.SIG_DFL)  # under nohup it is ignored, and a child would do so, too
    with subprocess.Popen(
        [sys.executable, "-m", "seepage", *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as child:
        signal.signal(told, before)
        assert child.stderr is not None
        said = b""
        while b"target target" not in said:  # told just before the work begins
            line = child.stderr.readline()
            assert line, said
            said += line
        child.send_signal(told)
        said += child.communicate(timeout=60)[1]
    assert child.returncode == 128 + told, said
    assert b"Traceback" not in said
    assert said.rstrip().endswith(b"stopped")
