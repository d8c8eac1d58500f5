"""What is installed is what was tried: exact versions, and hashes where one file is right for everybody."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pinned(name: str) -> dict[str, str]:
    """Packages and the rest of their lines, names as pip compares them."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    pairs = (re.split(r"==", line, maxsplit=1) for line in lines)
    return {re.sub(r"[-_.]+", "-", package).lower(): rest for package, rest in pairs}


def test_every_locked_package_has_the_version_of_the_constraints_and_a_hash() -> None:
    locked = pinned("requirements.lock") | pinned("requirements.source.lock")
    constrained = pinned("constraints.txt")
    for package, rest in locked.items():
        version, hashed = rest.split(" ", 1)
        assert constrained[package] == version, package
        assert re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", hashed), package
    assert "torch" not in locked  # its build differs by machine


def test_what_we_depend_on_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=; ]", each)[0]).lower() for each in asked}
    assert names - {"torch"} <= pinned("requirements.lock").keys()
