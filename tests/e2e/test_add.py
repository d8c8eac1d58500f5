"""How much has to be touched to add something: a copy of the package is changed in just these places, and used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import cases

ROOT = Path(__file__).parents[2]
AUDIT = (
    "target='target', batch_sizes=(2,), trials=2, clients=2, exposure=0, attack_points=('initialized',), "
    "attacks=('inverting_gradients:steps=2',)"
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package that a test may change."""
    tmp_path = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    cases.frame().write_csv(tmp_path / "table.csv")
    return tmp_path


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def python(house: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=house, env=os.environ | {"PYTHONPATH": "src"}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


SETTING = (
    '    sharpness: Annotated[float, Field(gt=0), Option(help="How sharp.", group=LEARNING)] = 1.0\n'
    "    fixed_batch: Annotated["
)
PART = """
from __future__ import annotations

from dataclasses import dataclass

from seepage.defenses.defense import Defense
from seepage.models import Parameters


@dataclass(frozen=True, kw_only=True)
class Halved(Defense):
    '''Half of the update is sent.'''

    part: float = 0.5

    def protect(self, update: Parameters, random: object) -> Parameters:
        return {name: self.part * value for name, value in update.items()}
"""
LINE = '    Part(name="halved", make=Halved, works_on=("rows",), about="Half is sent.", main="part"),\n'
USED = f"""
import sys; sys.path.insert(0, 'docs'); import generate, seepage; from seepage.cli.main import app
from typer.testing import CliRunner
print('HELP', '--sharpness' in CliRunner().invoke(app, ['audit', '--help']).output)
print('PLAN', CliRunner().invoke(app, ['plan', 'validate', 'plan.toml']).output)
print(CliRunner().invoke(app, ['defenses', 'list']).output)
found = seepage.audit('table.csv', {AUDIT}, sharpness=2.0, defense='halved:0.25')
print('PYTHON', found.command)
print('CELL', found.cells[0].defense)
print('SETTINGS', '`--sharpness`' in generate.settings())
print('PARTS', '`halved`' in generate.parts())
"""


@pytest.fixture(scope="module")
def said(house: Path) -> str:
    """What a package says that has one more setting (its declaration, and the code that uses it) and one more part
    (a file, and its line)."""
    rows = house / "src/seepage/studies/rows"
    change(rows / "settings.py", "    fixed_batch: Annotated[", SETTING)
    plain = "learning_rate=settings.learning_rate"
    change(rows / "making.py", f"{plain},", f"{plain} * settings.sharpness,")
    (house / "plan.toml").write_text('data = "table.csv"\ntarget = "target"\nsharpness = 2.5\n')
    (house / "src/seepage/defenses/halved.py").write_text(PART)
    parts = house / "src/seepage/plans/parts/defenses.py"
    change(parts, "\nDEFENSES = (", "\nfrom seepage.defenses.halved import Halved\n\nDEFENSES = (")
    change(parts, "DEFENSES = (\n", "DEFENSES = (\n" + LINE)
    return python(house, "-c", USED)


def test_a_setting_is_its_declaration_and_the_code_that_uses_it(said: str) -> None:
    assert "HELP True" in said
    assert "1 task" in said
    assert "--sharpness 2.0" in said
    assert "SETTINGS True" in said


def test_a_part_is_one_file_and_its_line(said: str) -> None:
    assert "halved\n    Half is sent.\n    works on: rows\n    options: part=0.5" in said
    assert "CELL halved:part=0.25" in said
    assert "PARTS True" in said
