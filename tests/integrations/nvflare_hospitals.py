"""The hospitals of ``examples/nvflare``, copied to a folder and run there as a reader would run them."""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "nvflare"
CANARY = 4711.8125  # a float32 too


def settled(folder: Path) -> Path:
    """A folder with the example and its tables."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "home").mkdir()
    with contextlib.chdir(folder):
        runpy.run_path("hospitals.py")
    return folder


def environment(folder: Path) -> dict[str, str]:
    """NVFlare keeps all that it writes below the folder."""
    paths = f"{ROOT / 'src'}{os.pathsep}{folder}"
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": paths,
        "HOME": str(folder / "home"),
        "NVFLARE_POC_WORKSPACE": str(folder / "poc"),
        "OMP_NUM_THREADS": "1",
    }
    return os.environ | own


def run(folder: Path, *words: str, timeout: float = 240) -> str:
    """Run a script of the example; what it printed."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def planted(file: Path) -> None:
    """Put a value that nobody else has into a hospital's rows."""
    rows = pl.read_csv(file).with_columns(pl.col("hours_in_emergency").cast(float))
    rows[2, "hours_in_emergency"] = CANARY
    rows.write_csv(file)


def holding_the_canary(folder: Path) -> list[str]:
    """Files that hold the planted value, as text or as a number; tables of hospitals are left out."""
    signs = [b"4711.8", *(struct.pack(form, CANARY) for form in ("<f", "<d", ">f", ">d"))]
    found = []
    for place, _, names in os.walk(folder):  # goes on if a folder is removed meanwhile
        for name in names:
            if re.fullmatch(r"site-\d\.csv", name):
                continue
            with contextlib.suppress(FileNotFoundError):
                content = (Path(place) / name).read_bytes()
                found += [name] * any(sign in content for sign in signs)
    return found
