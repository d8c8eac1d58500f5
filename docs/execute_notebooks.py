"""Runs the notebooks of the site and keeps their outputs. `make notebooks`; a test runs them too."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with fresh outputs; an error in a cell is raised."""
    book = nbformat.read(path, as_version=4)
    NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # when it was run is nobody's business
    return book


if __name__ == "__main__":
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(notebook), notebook)
        sys.stdout.write(f"{notebook.name}\n")
