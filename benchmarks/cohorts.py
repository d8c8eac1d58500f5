"""What sums over cohorts give away: the smallest cohort that hides on five tables, predicted and measured; and audits.

    python benchmarks/cohorts.py --store          run all (an hour on one core) and write numbers and page
    python benchmarks/cohorts.py --limits mlp     measure one model's cohorts and print them as JSON, a table a line
    python benchmarks/cohorts.py                  write the page from stored numbers

Clients have one row each, so that a cohort is counted to the row. A cohort *hides* if the attack ``rows_of_sum`` reads
at most 1 % of its rows exactly in one sum, the mean over the federations; the smallest is found by bisection, and it
and the next two must hide. Numbers are kept in docs/explanation/sums.json; the page's tables are between its comments.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from page_tables import filled

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
STORED, PAGE = DOCS / "sums.json", DOCS / "sums.md"
TABLES = {
    "adult": "Adult",
    "bank_marketing": "Bank Marketing",
    "clinic": "clinic",
    "german_credit": "German Credit",
    "law_school_clean": "Law School",
}
FEDERATIONS = {"mlp": 5, "mlp_tableak": 2}  # of each size; the wider net takes ten times as long
AUDITED = ("adult", "clinic")
AUDIT: dict[str, Any] = {
    "study": "cohorts", "clients": 20, "rows_each": 4, "cohort_sizes": [2, 4, 8, 16], "rounds": [1, 5, 20], "trials": 3,
}  # fmt: skip
SAME: dict[str, Any] = {
    "study": "cohorts", "clients": 8, "rows_each": 4, "cohort_sizes": [8], "rounds": [1, 2, 3], "trials": 3,
    "cohorts": "same", "attacks": ["rows_of_sum", "stacked_sums"],
}  # fmt: skip
HIDDEN = 0.01
NEXT = 2  # larger cohorts that must hide too
NEAR = 0.1  # of what was measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true", help="run everything and store it")
    parser.add_argument("--limits", choices=FEDERATIONS, help="measure the cohorts of one model")
    parser.add_argument("--audits", action="store_true", help="run the audits and print their cells as JSON")
    parser.add_argument("--put", nargs="+", type=Path, help="store what earlier runs printed")
    asked = parser.parse_args()
    if asked.limits or asked.audits:
        for line in limits(asked.limits) if asked.limits else audits():
            print(json.dumps(line), flush=True)
        return
    if asked.store:
        STORED.write_text(written([*(line for model in FEDERATIONS for line in limits(model)), *audits()]))
    if asked.put:
        STORED.write_text(written([json.loads(line) for path in asked.put for line in path.read_text().splitlines()]))
    PAGE.write_text(with_tables(PAGE.read_text(), json.loads(STORED.read_text())))


def limits(model: str) -> Iterator[dict[str, Any]]:
    """Predicted and measured, table by table."""
    from seepage.data.request import Request
    from seepage.data.source import open_source
    from seepage.studies.cohorts.making import counted
    from seepage.studies.cohorts.settings import CohortsSettings

    for data in TABLES:
        source, begin = open_source(Request(data=data)), time.perf_counter()
        predicted = counted(source, CohortsSettings(models=(model,), rows_each=1), model)
        assert predicted.cohort is not None
        shares: dict[int, float] = {}

        def read(size: int, source: Any = source, shares: dict[int, float] = shares) -> float:
            if size not in shares:
                shares[size] = mean_read(source, model, size)
            return shares[size]

        measured = smallest(read, predicted.cohort)
        yield {
            "kind": "limit", "data": data, "model": model, "predicted": predicted.cohort, "measured": measured,
            "within": abs(predicted.cohort - measured) <= NEAR * measured, "federations": FEDERATIONS[model],
            "why": predicted.why, "read": {str(size): round(shares[size], 4) for size in sorted(shares)},
            "seconds": round(time.perf_counter() - begin),
        }  # fmt: skip


def smallest(read: Callable[[int], float], guess: int) -> int:
    """The smallest cohort that hides, as do the next ones: bisection between one that does not and one that does."""
    low, high = int(0.9 * guess), int(1.1 * guess) + 1
    while read(low) <= HIDDEN:
        low = int(0.8 * low)
    while read(high) > HIDDEN:
        high = int(1.2 * high) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if read(middle) <= HIDDEN else (middle, high)
    more = 1
    while more <= NEXT:
        high, more = (high, more + 1) if read(high + more) <= HIDDEN else (high + more + 1, 1)
    return high


def mean_read(source: Any, model: str, size: int) -> float:
    """The share of rows that is read exactly in one sum over so many clients of one row."""
    from seepage._core import Streams
    from seepage.studies.cohorts.making import federated
    from seepage.studies.cohorts.running import CohortsChoice, attacked, cells_of
    from seepage.studies.cohorts.settings import CohortsSettings

    settings = CohortsSettings(
        models=(model,), clients=size, rows_each=1, cohort_sizes=(size,), rounds=(1,), attacks=("rows_of_sum",)
    )
    shares = []
    for repeat in range(FEDERATIONS[model]):
        streams = Streams(0).child("repeat", repeat)
        shown = federated(source, settings, model, size, 1, streams)
        cell, _ = cells_of(source.name, settings, CohortsChoice(model, size, 1, repeat), "")["rows_of_sum"]
        record = attacked(cell, shown, settings, repeat, streams.child("attack"))
        values = {measure.metric: value for measure, value in record.values.items() if measure.source == "attack"}
        assert not values["certified_wrong"], (source.name, model, size, repeat)
        shares.append(values["read"])
    return sum(shares) / len(shares)


def audits() -> Iterator[dict[str, Any]]:
    """What every attack reads, over sizes and rounds."""
    import seepage

    for data, settings in itertools.product(AUDITED, (SAME, AUDIT)):
        begin, summary = time.perf_counter(), seepage.audit(**settings, data=data, yes=True)
        for cell in summary.cells:
            numbers = {
                name: {end: None if n is None else round(n, 4) for end, n in value.to_dict().items()}
                for name, value in cell.metrics.items()
                if value is not None
            }
            yield {"kind": "cell", **cell.place, "trials": cell.trials, "notes": list(cell.notes), "numbers": numbers}
        yield {
            "kind": "run", "data": data, "versions": dict(summary.versions),
            "seconds": round(time.perf_counter() - begin),
        }  # fmt: skip


def written(lines: list[dict[str, Any]]) -> str:
    """The JSON, one entry a line."""
    return "[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n"


def with_tables(page: str, stored: list[dict[str, Any]]) -> str:
    """The page with its tables made from stored numbers."""
    tables = {"limits": limits_table(stored), "run": ran(stored)}
    tables |= {f"cells of {data}": cells_table(stored, data) for data in AUDITED}
    tables["same"] = same_table(stored)
    return filled(page, tables)


def limits_table(stored: list[dict[str, Any]]) -> str:
    """Predicted and measured, side by side."""
    lines = [
        [
            TABLES[line["data"]], f"`{line['model']}`", str(line["predicted"]), str(line["measured"]),
            f"{100 * (line['predicted'] / line['measured'] - 1):+.0f} %".replace("-", "−"), str(line["federations"]),
        ]
        for line in stored
        if line["kind"] == "limit"
    ]  # fmt: skip
    return rendered(["table", "model", "predicted", "measured", "off by", "federations of each size"], lines)


def cells_table(stored: list[dict[str, Any]], data: str) -> str:
    """Every attack, over sizes: read / by chance."""
    cells = [line for line in of_audit(stored, AUDIT) if line["dataset"] == data]
    sizes = sorted({cell["cohort_size"] for cell in cells})
    places = {(cell["attack"], cell["rounds"], cell["cohort_size"]): cell for cell in cells}
    rows = sorted({key[:2] for key in places}, key=lambda key: ([c["attack"] for c in cells].index(key[0]), key[1]))
    lines = [
        [f"`{attack}`", str(rounds), *(shown(places.get((attack, rounds, size))) for size in sizes)]
        for attack, rounds in rows
    ]
    return rendered(["attack", "rounds", *(f"cohort of {size}: read / chance" for size in sizes)], lines)


def same_table(stored: list[dict[str, Any]]) -> str:
    """The same cohort over rounds, table by table: read / by chance."""
    places = {(cell["attack"], cell["rounds"], cell["dataset"]): cell for cell in of_audit(stored, SAME)}
    known = [data for data in AUDITED if any(key[2] == data for key in places)]
    lines = [
        [f"`{attack}`", str(rounds), *(shown(places.get((attack, rounds, data))) for data in known)]
        for rounds in SAME["rounds"]
        for attack in SAME["attacks"]
    ]
    return rendered(["attack", "rounds", *(f"{TABLES[data]}: read / chance" for data in known)], lines)


def of_audit(stored: list[dict[str, Any]], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells of one of the two audits of a table."""
    return [line for line in stored if line["kind"] == "cell" and line["clients"] == settings["clients"]]


def shown(cell: dict[str, Any] | None) -> str:
    if cell is None or "read" not in cell["numbers"]:
        return "does not apply"
    return f"**{cell['numbers']['read']['mean']:.2f}** / {cell['numbers']['guess']['mean']:.2f}"


def ran(stored: list[dict[str, Any]]) -> str:
    """How it was run."""
    runs = [line for line in stored if line["kind"] == "run"]
    versions, seconds = runs[0]["versions"], sum(line["seconds"] for line in stored if "seconds" in line)
    return (
        f"{AUDIT['trials']} federations of {AUDIT['clients']} clients with {AUDIT['rows_each']} rows each for the "
        f"audits; {seconds / 60:.0f} minutes in all on a shared core; Seepage {versions['seepage']}, torch "
        f"{versions['torch']}."
    )


def rendered(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
