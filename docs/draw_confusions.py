"""Draws docs/explanation/confusions.svg: which shares a property attack confuses.

    python docs/draw_confusions.py [RUN/summary.json]

Without a run, the counts in docs/explanation/confusions.json are drawn. With the summary of a run of
`seepage reproduce property` or `seepage audit property`, its counts are put there first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from seepage.results import parse_summary
from seepage.results.property import PropertySummary

HERE = Path(__file__).parent / "explanation"
COUNTS, FIGURE = HERE / "confusions.json", HERE / "confusions.svg"
LOSSES, CLASSES = ("nll", "sor", "coral"), (4, 10, 20)
SIDE, WIDE, HIGH, LEFT, TOP = 190, 250, 250, 46, 30


class Counts(TypedDict):
    """One matrix: targets by true range (row) and named range (column)."""

    classes: int
    loss: str
    confusion: list[list[int]]


def main(arguments: Sequence[str]) -> None:
    if arguments:
        summary = parse_summary(Path(arguments[0]).read_bytes(), arguments[0])
        if not isinstance(summary, PropertySummary):
            raise SystemExit(f"{arguments[0]} is of the study {summary.study}; confusions are drawn of property.")
        COUNTS.write_text(written(taken(summary)), encoding="utf-8")
    FIGURE.write_text(figure(json.loads(COUNTS.read_text(encoding="utf-8"))), encoding="utf-8")


def taken(summary: PropertySummary) -> list[Counts]:
    """What is drawn of a run: attacks in one step, without a defence."""
    return [
        Counts(classes=cell.classes, loss=cell.loss, confusion=[list(row) for row in cell.confusion])
        for cell in summary.cells
        if cell.defense == "none" and not cell.hierarchy
    ]


def written(cells: Sequence[Counts]) -> str:
    """One cell on each line."""
    return "[\n" + ",\n".join(json.dumps(cell) for cell in cells) + "\n]\n"


def figure(cells: Sequence[Counts]) -> str:
    """A matrix for each loss (row) and number of ranges (column), as SVG text."""
    matrices = {(cell["loss"], cell["classes"]): cell["confusion"] for cell in cells}
    losses = [loss for loss in LOSSES if any((loss, classes) in matrices for classes in CLASSES)]
    wide, high = WIDE * len(CLASSES) + 20, HIGH * len(losses) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        'font-family="system-ui, sans-serif" font-size="11" fill="#333">',
        "<title>Confusion matrices of property inference: true range (down) and named range (across)</title>",
        f'<rect width="{wide}" height="{high}" fill="#fff"/>',
    ]
    for row, loss in enumerate(losses):
        for column, classes in enumerate(CLASSES):
            if (loss, classes) in matrices:
                parts += panel(loss, matrices[loss, classes], WIDE * column + LEFT, HIGH * row + TOP)
    return "\n".join([*parts, "</svg>\n"])


def panel(loss: str, counts: list[list[int]], left: int, top: int) -> list[str]:
    """One matrix; the darker a cell, the larger its part of its row."""
    classes, size = len(counts), SIDE / len(counts)
    right = sum(counts[place][place] for place in range(classes)) / sum(map(sum, counts))
    parts = [
        f'<text x="{left}" y="{top - 8}" font-weight="600">{loss}, {classes} ranges: {100 * right:.0f} % right</text>',
        f'<text x="{left + SIDE / 2}" y="{top + SIDE + 14}" text-anchor="middle">named, 0 to 100 %</text>',
        f'<text transform="translate({left - 8} {top + SIDE / 2}) rotate(-90)" text-anchor="middle">true</text>',
    ]
    for down, line in enumerate(counts):
        for across, count in enumerate(line):
            share = count / max(1, sum(line))
            if share < 0.005:
                continue
            x, y = left + size * across, top + size * down
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}" fill="{shade(share)}"/>'
            )
            if classes <= 5:
                ink = "#fff" if share > 0.5 else "#333"
                parts.append(
                    f'<text x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}" text-anchor="middle" fill="{ink}">'
                    f"{100 * share:.0f}</text>"
                )
    parts.append(f'<rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>')
    return parts


def shade(share: float) -> str:
    """From white to blue."""
    red, green, blue = (round(255 + (end - 255) * share**0.6) for end in (18, 72, 130))
    return f"#{red:02x}{green:02x}{blue:02x}"


if __name__ == "__main__":
    main(sys.argv[1:])
