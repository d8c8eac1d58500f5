"""The wheel: built, installed into a new environment, and used for an audit."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*words: str, cwd: Path, seconds: int) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_audits_clinic_in_a_new_environment(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--quiet", "--outdir", str(tmp_path / "dist"), str(ROOT), cwd=ROOT, seconds=300)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert list((tmp_path / "dist").glob("*.tar.gz"))
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("report/page.html", "report/report.css", "report/sections/verdict.html", "py.typed"):
        assert f"seepage/{needed}" in names, needed
    assert any(name.startswith("seepage/report/vendor/plotly-basic") for name in names)
    assert any(name.endswith(".toml") and "reproductions" in name for name in names)
    run(sys.executable, "-m", "venv", "fresh", cwd=tmp_path, seconds=120)
    pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        str(ROOT / "constraints.txt"),
        str(wheel),
    ]
    run(str(tmp_path / "fresh/bin/python"), *pip, cwd=tmp_path, seconds=900)
    words = ["audit", "--data", "clinic", "--batch-size", "1", "--trials", "2", "--clients", "2", "--exposure", "0"]
    said = run(str(tmp_path / "fresh/bin/seepage"), *words, "--out", "run", cwd=tmp_path, seconds=300)
    assert "2 of 2" in said
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000
