"""What the parties of vertical training read of each other, on three tables: the numbers of one page.

    python benchmarks/parties_read.py --store   run (a quarter of an hour on one core) and write numbers and page
    python benchmarks/parties_read.py           write the page from stored numbers

Numbers are kept in docs/explanation/parties-read.json; the page's tables are between its comments.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from page_tables import filled

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
STORED, PAGE = DOCS / "parties-read.json", DOCS / "parties-read.md"
DATA = {"bank_marketing": "Bank Marketing", "adult": "Adult", "clinic": "clinic"}
COLUMNS = ["known_rows", "zeros_and_ones", "equality_solving", "generative_regression:match=intermediates"]
LABELS = ["gradient_norm", "gradient_direction", "gradient_clusters", "model_completion", "gradient_completion"]
COMMON: dict[str, Any] = {"study": "parties", "guests": 2, "rows": 3000, "runs": 3, "seed": 0}
ON_INTERMEDIATES = ["intermediate_noise:0.5", "intermediate_noise:2", "dp_intermediates:noise=1"]
ON_GRADIENTS = [
    "gradient_noise:1",
    "gradient_noise:4",
    "gradient_clipping:0.05",
    "label_smoothing:0.2",
    "dp_gradients:noise=1",
    "dp_gradients:noise=4",
]
AUDITS: list[dict[str, Any]] = [
    {
        "designs": ["tabvfl", "tabvfl_without_fc", "local_encoders"],
        "attacks": ["as_sent", *COLUMNS, "generative_regression", *LABELS],
    },
    {"designs": ["tabvfl"], "defenses": ON_INTERMEDIATES, "attacks": [*COLUMNS, "gradient_completion"]},
    {"designs": ["tabvfl"], "defenses": ON_GRADIENTS, "attacks": ["known_rows", *LABELS]},
]
KEPT = ("read", "alone", "guess", "gain", "either", "f1", "macro_f1", "roc_auc")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true", help="run everything and store it")
    if parser.parse_args().store:
        STORED.write_text(written(measured()))
    PAGE.write_text(with_tables(PAGE.read_text(), json.loads(STORED.read_text())))


def written(stored: dict[str, Any]) -> str:
    """The JSON, one cell a line."""
    head = json.dumps({name: value for name, value in stored.items() if name != "cells"}, indent=1)
    lines = ",\n".join(json.dumps(cell) for cell in stored["cells"])
    return f'{head[:-2]},\n "cells": [\n{lines}\n]}}\n'


def measured() -> dict[str, Any]:
    """Every audit of every table."""
    import seepage

    begin, cells, versions = time.perf_counter(), [], {}
    for data in DATA:
        for audit in AUDITS:
            summary = seepage.audit(**COMMON | audit, data=data)
            versions = dict(summary.versions)
            cells += [told(cell) for cell in summary.cells]
            print(data, audit["designs"], f"{time.perf_counter() - begin:.0f} s", flush=True)
    seconds = round(time.perf_counter() - begin)
    return {"settings": COMMON, "audits": AUDITS, "versions": versions, "seconds": seconds, "cells": cells}


def told(cell: Any) -> dict[str, Any]:
    """What is kept of a cell."""
    numbers = {
        name: {end: None if number is None else round(number, 4) for end, number in value.to_dict().items()}
        for name in KEPT
        if (value := cell.metrics.get(name)) is not None
    }
    return {**cell.place, "trials": cell.trials, "notes": list(cell.notes), "epsilon": cell.epsilon, "numbers": numbers}


def with_tables(page: str, stored: dict[str, Any]) -> str:
    """The page with its tables made from stored numbers."""
    tables = {"columns": attacks(stored, "columns"), "labels": attacks(stored, "labels")}
    tables |= {"designs": designs(stored), "intermediates": defended(stored, "columns")}
    tables |= {"gradients": defended(stored, "labels"), "worth": worths(stored), "run": ran(stored)}
    return filled(page, tables)


def attacks(stored: dict[str, Any], reads: str) -> str:
    """Every attack on TabVFL without a defence, table by table: read, alone, guess."""
    head = ["attack", *(f"{title}: read / alone / guess" for title in DATA.values())]
    names = [cell["attack"] for cell in chosen(stored, "clinic", "tabvfl", "none", reads)]
    lines = [[f"`{name}`", *(triple(stored, data, "tabvfl", "none", name) for data in DATA)] for name in names]
    if reads == "labels":
        lines += [
            [f"`{name}`, told which group is which", *(either(stored, data, name) for data in DATA)]
            for name in ("gradient_direction", "gradient_clusters")
        ]
    return rendered(head, lines)


def either(stored: dict[str, Any], data: str, attack: str) -> str:
    """What is read where somebody says which of two groups is which class."""
    cell = find(stored, data, "tabvfl", "none", attack)
    return read(cell and {"numbers": {"read": cell["numbers"]["either"]}})


def designs(stored: dict[str, Any]) -> str:
    """The same attacks where other parts of the model are at the guests."""
    names = ["as_sent", "known_rows", "zeros_and_ones", "model_completion", "gradient_norm", "gradient_completion"]
    lines = [
        [f"`{design}`", f"`{name}`", *(triple(stored, data, design, "none", name) for data in DATA)]
        for design in AUDITS[0]["designs"]
        for name in names
    ]
    return rendered(["design", "attack", *(f"{title}: read / alone / guess" for title in DATA.values())], lines)


def worths(stored: dict[str, Any]) -> str:
    """What the designs are worth."""
    lines = [
        [f"`{design}`", *(" / ".join(worth(stored, data, "none", design)) for data in DATA)]
        for design in AUDITS[0]["designs"]
    ]
    return rendered(["design", *(f"{title}: F1 / macro F1 / ROC AUC" for title in DATA.values())], lines)


def defended(stored: dict[str, Any], reads: str) -> str:
    """What each defence leaves of the attacks on one kind of secret, and what the model is worth behind it."""
    wanted = ON_INTERMEDIATES if reads == "columns" else ON_GRADIENTS
    names = COLUMNS if reads == "columns" else LABELS
    behind = ["none", *(cell_name(stored, each) for each in wanted)]
    lines = [
        [DATA[data], f"`{defense}`", epsilon(stored, data, defense), *worth(stored, data, defense)]
        + [read(find(stored, data, "tabvfl", defense, name)) for name in names]
        for data in DATA
        for defense in behind
    ]
    return rendered(
        ["table", "defence", "epsilon", "F1", "macro F1", "ROC AUC", *(f"`{name}`" for name in names)], lines
    )


def ran(stored: dict[str, Any]) -> str:
    """How it was run."""
    settings = stored["settings"]
    return (
        f"{settings['runs']} trainings of {settings['rows']:,} rows for each line, {settings['guests']} parties, "
        f"{stored['seconds'] / 60:.0f} minutes in all on one shared core; Seepage {stored['versions']['seepage']}, "
        f"torch {stored['versions']['torch']}."
    )


def chosen(stored: dict[str, Any], data: str, design: str, defense: str, reads: str) -> Iterator[dict[str, Any]]:
    place = {"dataset": data, "design": design, "defense": defense, "reads": reads}
    yield from (cell for cell in stored["cells"] if all(cell[name] == value for name, value in place.items()))


def find(stored: dict[str, Any], data: str, design: str, defense: str, attack: str) -> dict[str, Any] | None:
    every = [*chosen(stored, data, design, defense, "columns"), *chosen(stored, data, design, defense, "labels")]
    return next((cell for cell in every if cell["attack"] == attack), None)


def cell_name(stored: dict[str, Any], spec: str) -> str:
    """A defence as cells write it, with the options named."""
    short = re.sub(r"[^a-z0-9_.]", "", spec.replace("=", ""))
    for cell in stored["cells"]:
        name, _, option = cell["defense"].partition(":")
        value = option.partition("=")[2]
        if short in (f"{name}{value}", f"{name}{option.replace('=', '')}"):
            return str(cell["defense"])
    raise SystemExit(f"The stored numbers have no defence {spec!r}.")


def triple(stored: dict[str, Any], data: str, design: str, defense: str, attack: str) -> str:
    cell = find(stored, data, design, defense, attack)
    if cell is None or "read" not in cell["numbers"]:
        return "does not apply"
    others = (number(cell, name) for name in ("alone", "guess"))
    return " / ".join([f"**{read(cell)}**", *others])


def read(cell: dict[str, Any] | None) -> str:
    if cell is None or "read" not in cell["numbers"]:
        return "does not apply"
    found = cell["numbers"]["read"]
    return f"{found['mean']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def number(cell: dict[str, Any], name: str) -> str:
    return f"{cell['numbers'][name]['mean']:.2f}"


def worth(stored: dict[str, Any], data: str, defense: str, design: str = "tabvfl") -> list[str]:
    place = (data, design, defense)
    cell = next(
        cell
        for cell in stored["cells"]
        if (cell["dataset"], cell["design"], cell["defense"]) == place and "f1" in cell["numbers"]
    )
    return [read({"numbers": {"read": cell["numbers"][name]}}) for name in ("f1", "macro_f1", "roc_auc")]


def epsilon(stored: dict[str, Any], data: str, defense: str) -> str:
    found = [cell["epsilon"] for cell in stored["cells"] if (cell["dataset"], cell["defense"]) == (data, defense)]
    return f"{found[0]:,.0f}" if found and found[0] is not None else "no guarantee"


def rendered(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
