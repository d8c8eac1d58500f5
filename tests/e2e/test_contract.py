"""The import contract: rooms import downward only, and an attack that imports the truth fails the check."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; sys.path.insert(0, 'src')\n"
        "from importlinter.cli import lint_imports\n"
        "sys.exit(lint_imports(no_cache=True))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package that a test may spoil."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contract_holds(house: Path) -> None:
    done = lint(house)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "from seepage.federation import Truth",
        "from seepage.metrics import Evaluator",
        "import seepage.studies.rows.running",
    ],
)
def test_an_attack_that_imports_the_truth_fails(house: Path, line: str) -> None:
    attack = house / "src/seepage/attacks/inversion/gradient_matching.py"
    attack.write_text(attack.read_text() + f"\n{line}\n")
    done = lint(house)
    assert done.returncode == 1
    assert "seepage.attacks is not allowed to import" in done.stdout


def test_an_observation_has_no_truth_in_it() -> None:
    """The object an attack receives leads to no row of a client, whatever path of attributes one follows."""
    import dataclasses

    import torch

    from seepage._core import Streams
    from seepage.data import Table
    from seepage.federation import Truth, simulate
    from seepage.observation import Knowledge
    from tests import cases

    trace = simulate(cases.PROTOCOLS["fedsgd"], cases.population("linear"), Knowledge(), Streams(0))
    seen: set[int] = set()
    tensors: list[torch.Tensor] = []

    def walk(thing: object) -> None:
        if id(thing) in seen:
            return
        seen.add(id(thing))
        assert not isinstance(thing, Table | Truth)
        if isinstance(thing, torch.Tensor):
            tensors.append(thing)
        elif dataclasses.is_dataclass(thing):
            for field in dataclasses.fields(thing):
                walk(getattr(thing, field.name))
        elif isinstance(thing, dict):
            for value in thing.values():
                walk(value)
        elif isinstance(thing, list | tuple):
            for value in thing:
                walk(value)

    point = trace.points[0]
    walk(point.observations[0])
    rows = torch.from_numpy(point.truths[0].encoder.encode(point.truths[0].rows, point.truths[0].statistics))
    assert tensors
    for tensor in tensors:
        if tensor.dim() >= 2 and tensor.shape[-1] == rows.shape[-1]:
            assert not any((row == tensor).all(-1).any() for row in rows)
