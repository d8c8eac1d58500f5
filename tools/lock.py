"""Write `requirements.lock`: every package of `.[dev]` in the version of `constraints.txt`, with the hash of its file.

What is published as source only goes to `requirements.source.lock`: it is built after the rest, by the setuptools that
the rest brings, so that nothing is fetched without a hash.

    make lock

For Linux on x86-64 with Python 3.11, which is what CI and the README's commands use; elsewhere `constraints.txt` holds.
PyTorch is left out: its build differs by machine (with and without CUDA), so no one hash is right.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
SOURCE_LOCK = ROOT / "requirements.source.lock"
SOURCE = {"pyhocon"}  # of nvflare
LEFT_OUT = {"seepage", "torch"}
HEAD = (
    "# Written by `make lock`: versions of constraints.txt with the sha256 of their files, for Linux on x86-64 with\n"
    "# Python 3.11. torch is not here: its build differs by machine.\n"
)


def resolved() -> list[dict[str, Any]]:
    """What pip would install into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--quiet", "--quiet", "--dry-run", "--ignore-installed", "--only-binary", ":all:"]
        words += ["--no-binary", ",".join(SOURCE)]
        subprocess.run(
            [sys.executable, "-m", "pip", *words, "--report", str(report), "-c", "constraints.txt", ".[dev]"],
            cwd=ROOT,
            check=True,
        )
        found: list[dict[str, Any]] = json.loads(report.read_text())["install"]
        return found


def main() -> None:
    """One package a line, by name."""
    lines = {}
    for each in resolved():
        name, version = each["metadata"]["name"], each["metadata"]["version"]
        if name.lower() not in LEFT_OUT:
            sha = each["download_info"]["archive_info"]["hashes"]["sha256"]
            lines[name.lower()] = f"{name}=={version} --hash=sha256:{sha}"
    for file, wanted in ((LOCK, lines.keys() - SOURCE), (SOURCE_LOCK, SOURCE)):
        file.write_text(HEAD + "".join(f"{lines[name]}\n" for name in sorted(wanted)))


if __name__ == "__main__":
    main()
