"""Parts of other people: a real package, installed for the test, is listed, run, stored and reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PARTS = '''
"""Parts that are not Seepage's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch

from seepage._core import Outcome, silent
from seepage.attacks import Together
from seepage.data import DataSet
from seepage.defenses import Defense
from seepage.models import MLP
from seepage.observation import Claim


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Claims that every row is at a point of the input space."""

    place: float = 0.0

    def start(self, scene, streams, *, progress=silent):
        return Together(self._claims)

    def _claims(self, observations):
        shape = (observations[0].exchange.rows, observations[0].layout.width)
        return [Claim(outcome=Outcome.OK, rows=np.full(shape, self.place), loss=0.0) for _ in observations]


@dataclass(frozen=True, kw_only=True)
class Halved(Defense):
    """Half of the update is sent."""

    def protect(self, update, random):
        return {name: value / 2 for name, value in update.items()}


def narrow():
    """A very narrow net."""
    return MLP(width=4, depth=1)


def _rows():
    draw = np.random.default_rng(0)
    columns = {"a": draw.normal(size=90), "b": draw.choice(["x", "y", "z"], 90), "y": draw.integers(0, 2, 90)}
    return pl.DataFrame(columns)


ORCHARD = DataSet(
    name="orchard", title="An orchard", target="y", task="binary", rows=90, columns=3,
    origin="the test", terms="none", make=_rows,
)
'''
PROJECT = """
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"
[project]
name = "orchard-parts"
version = "1.2"
[tool.setuptools]
py-modules = ["orchard_parts", "orchard_broken"]
[project.entry-points."seepage.attacks"]
origin = "orchard_parts:Origin"
tableak = "orchard_parts:Origin"
rotten = "orchard_broken:Attack"
[project.entry-points."seepage.defenses"]
halved = "orchard_parts:Halved"
[project.entry-points."seepage.models"]
narrow = "orchard_parts:narrow"
[project.entry-points."seepage.data"]
orchard = "orchard_parts:ORCHARD"
"""
AUDIT = [
    "audit", "--data", "orchard", "--trials", "2", "--clients", "2", "--exposure", "0",
    "--attack-points", "initialized", "--batch-size", "2",
]  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the package."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "orchard_parts.py").write_text(PARTS)
    (folder / "orchard_broken.py").write_text("raise RuntimeError('worm inside')\n")
    (folder / "pyproject.toml").write_text(PROJECT)
    site = folder / "site"
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site), str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return site


LISTS = [["attacks", "list"], ["defenses", "list"], ["models", "list"], ["data", "list"]]
PLACED = [*AUDIT, "--attacks", "orchard_parts:Origin:place=1", "--defense", "orchard_parts:Halved", "--json"]
PLACED[PLACED.index("orchard")] = "orchard_parts:ORCHARD"
BAD = {
    "'orchard_parts:Nothing' cannot be loaded": ["--attacks", "orchard_parts:Nothing"],
    "No module named 'nowhere'": ["--attacks", "nowhere.at_all:Attack"],
    "cannot be loaded (package orchard-parts: RuntimeError: worm inside)": ["--attacks", "rotten"],
    "Did you mean 'place'": ["--attacks", "orchard_parts:Origin:plac=1"],
    "it must be a seepage.data.DataSet": ["--data", "orchard_parts:Origin"],
}
Ended = dict[str, tuple[int, str, str, bool]]
CODE = """
import contextlib, io, json, os, sys
from seepage.cli.main import main
ended = []
for words in json.loads(sys.argv[1]):
    sys.argv, out, err = ["seepage", *words], io.StringIO(), io.StringIO()
    before = sorted(os.listdir())
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    ended.append([code, out.getvalue(), err.getvalue(), sorted(os.listdir()) == before])
from orchard_parts import Halved, ORCHARD, Origin, narrow
from seepage import testing
testing.check_attack(Origin()); testing.check_defense(Halved(), works_on=('rows', 'vertical'))
testing.check_model(narrow()); testing.check_dataset(ORCHARD)
print(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def ended(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Commands, in one process that has the package: code, stdout, stderr, and whether nothing was left behind.

    At its end the parts pass the shipped suite.
    """
    commands = [*LISTS, *([*AUDIT, *words] for words in BAD.values()), PLACED]
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(commands)],
        cwd=tmp_path_factory.mktemp("here"), env=os.environ | {"PYTHONPATH": str(installed)}, capture_output=True,
        text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {" ".join(words): tuple(each) for words, each in zip(commands, found, strict=True)}


def test_parts_of_a_package_are_listed_with_where_they_come_from(ended: Ended) -> None:
    code, listed, told, _ = ended["attacks list"]
    assert code == 0, told
    assert "origin\n    Claims that every row is at a point" in listed
    assert "options: place=0" in listed
    assert "package: orchard-parts" in listed
    # One that cannot be imported and one whose name is taken are named, and the rest works.
    assert "rotten\n    cannot be loaded: package orchard-parts: RuntimeError: worm inside" in listed
    assert "worm inside" in told
    assert "'tableak' of the package orchard-parts is left out: the name is also one of Seepage" in told
    for kind, name in {"defenses": "halved", "models": "narrow", "data": "orchard"}.items():
        assert name in ended[f"{kind} list"][1]


@pytest.mark.slow
def test_they_are_run_stored_and_reported(installed: Path, tmp_path: Path) -> None:
    words = [*AUDIT, "--attacks", "origin:place=0.5", "--defense", "none,halved", "--model", "narrow", "--out", "run"]
    done = subprocess.run(
        [sys.executable, "-m", "seepage", *words, "--json", "--jobs", "2"],  # other processes load them too
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(installed)}, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert [(cell["dataset"], cell["attack"], cell["defense"], cell["model"]) for cell in cells] == [
        ("orchard", "origin:place=0.5", "none", "narrow"),
        ("orchard", "origin:place=0.5", "halved", "narrow"),
    ]
    assert all(cell["failed"] == 0 for cell in cells)
    assert "origin" in (tmp_path / "run" / "report.html").read_text()


def test_an_object_can_be_named_by_its_place(ended: Ended) -> None:
    code, printed, told, _ = ended[" ".join(PLACED)]
    assert code == 0, told
    (cell,) = json.loads(printed)["cells"]
    assert cell["attack"] == "orchard_parts:Origin:place=1"
    assert cell["dataset"] == "orchard"


@pytest.mark.parametrize("sentence", BAD)
def test_what_cannot_be_loaded_is_one_sentence(ended: Ended, sentence: str) -> None:
    code, _, told, nothing_left = ended[" ".join([*AUDIT, *BAD[sentence]])]
    assert code == 2
    assert sentence in told.splitlines()[-1]
    assert nothing_left
