"""How long a large table takes from file to model inputs, and how much memory.

The task: read Census-Income (199,523 x 42), infer its schema, encode it one-hot. The limits we keep: 3 s and 1 GB.
`ratio` is how many times faster that is than a plain reference in the same run: the csv module and one Python
dictionary per column, measured on a part of the rows and scaled up.

    python benchmarks/loading.py [--quick] --json

`--quick`, and a machine that cannot fetch Census-Income, use a table of our own; `settings` says so.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from seepage._core.errors import FetchError
from seepage.data import DATASETS, Encoder, Table, clinic, infer_schema, open_dataset, read_frame
from seepage.data.fetch import fetch_members

NAME = "census_income"


def peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def ours(path: Path | None) -> tuple[float, tuple[int, int]]:
    """Seconds from file to inputs, and the inputs' shape. Without a path it is Census-Income from the cache."""
    start = time.perf_counter()
    if path is None:
        frame, schema = open_dataset(NAME, source="mirror")
    else:
        frame = read_frame(path)
        schema = infer_schema(frame, "died")
    table = Table.from_frame(frame, schema)
    encoder = Encoder(schema=schema)
    inputs = encoder.encode(table, encoder.statistics(table))
    return time.perf_counter() - start, (inputs.shape[0], inputs.shape[1])


def reference(path: Path, rows: int, total: int) -> float:
    """Seconds of the plain way for all rows, from a run over the first ``rows`` of them."""
    start = time.perf_counter()
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream, skipinitialspace=True)
        lines = [line for line, _ in zip(reader, range(rows), strict=False)]
    columns = []
    for place in range(len(lines[0]) - 1):
        values = [line[place] for line in lines[1:]]
        numeric = all(_reads_as_number(value) for value in values)
        columns.append(None if numeric else {value: code for code, value in enumerate(sorted(set(values)))})
    encoded = []
    for line in lines[1:]:
        row: list[float] = []
        for value, codes in zip(line, columns, strict=False):
            if codes is None:
                row.append(float(value or 0))
            else:
                block = [0.0] * len(codes)
                block[codes[value]] = 1.0
                row += block
        encoded.append(row)
    np.array(encoded, dtype=np.float32)
    return (time.perf_counter() - start) * total / rows


def _reads_as_number(value: str) -> bool:
    try:
        float(value or 0)
    except ValueError:
        return False
    return True


def source(quick: bool, folder: Path) -> tuple[str, Path, Path | None]:
    """Name, file, and the path for :func:`ours` (None: by name)."""
    if not quick:
        try:
            (path,) = fetch_members(DATASETS[NAME].mirror)
        except FetchError as error:
            print(f"{NAME} cannot be had here ({error}); a table of our own stands in", file=sys.stderr)
        else:
            return NAME, path, None
    path = folder / "clinic.csv"
    clinic(20_000 if quick else 200_000).write_csv(path)
    return "clinic", path, path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small table, no network")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        name, path, given = source(arguments.quick, Path(folder))
        runs = [ours(given)]
        memory, shape = peak_memory_mb(), runs[0][1]  # of one loading; more of them only add gaps in the heap
        runs += [ours(given) for _ in range(2)]
        part = min(5_000, shape[0])
        plain = reference(path, part, shape[0])
    seconds = min(run[0] for run in runs)
    result = {
        "benchmark": "loading",
        "settings": {"data": name, "rows": shape[0], "inputs": shape[1], "runs": 3, "reference_rows": part},
        "seconds": round(seconds, 3),
        "seconds_first": round(runs[0][0], 3),
        "peak_memory_mb": round(memory),
        "reference_seconds": round(plain, 3),
        "ratio": round(plain / seconds, 2),
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{key}: {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
