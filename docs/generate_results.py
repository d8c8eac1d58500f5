"""Writes docs/results.md: prose from docs/results.template.md, every table from a file in reproductions/results.

`make docs`; a test fails when the page is stale. A line of the template that reads ``{{ cafe/2 }}`` becomes the stored
run reproductions/results/cafe/2.json; ``{{ cafe/2 across batch }}`` has its batch sizes as columns;
``{{ earlier/exact }}`` is a transcribed table. ``{{ where every table stands }}`` is docs/standing_tables.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from seepage.reproductions.markdown import as_markdown
from seepage.reproductions.stored import read_table
from seepage.reproductions.transcribed import TranscribedTable, read_transcribed

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from standing_tables import standings  # noqa: E402  a neighbour, found by the line above

TEMPLATE, PAGE = HERE / "results.template.md", HERE / "results.md"
RESULTS = HERE.parent / "reproductions" / "results"
PLACE = re.compile(r"^\{\{ (?P<file>[\w./-]+?)(?: across (?P<across>[\w ]+))? \}\}$", re.M)
STANDINGS = "{{ where every table stands }}"
EARLIER = "earlier"


def page() -> str:
    """The page, as Markdown."""
    text = TEMPLATE.read_text(encoding="utf-8").replace(STANDINGS, standings())
    return PLACE.sub(lambda place: rendered(place["file"], place["across"] or ""), text)


def rendered(name: str, across: str = "") -> str:
    """One table with where it comes from."""
    file = RESULTS / f"{name}.json"
    if name.startswith(f"{EARLIER}/"):
        return as_it_stood(read_transcribed(file))
    return as_markdown(read_table(file), across).rstrip("\n")


def as_it_stood(table: TranscribedTable) -> str:
    """A transcribed table, with the commands that were said to have made it."""
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    said = "; ".join(f"`{command}`" for command in table.commands)
    origin = f"**{table.title}.** Transcribed from {table.source}." + (f" Command then: {said}." if said else "")
    return f"{origin}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
