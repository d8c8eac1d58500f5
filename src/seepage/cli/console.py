"""What people see in a terminal: progress bars and the summary table. Quiet in a pipe."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from seepage.report.words import spec
from seepage.results import Summary
from seepage.results.summary import best_guess

console = Console(width=None if sys.stdout.isatty() else 160)  # a pipe has no edge to wrap at
errors = Console(stderr=True)


class ProgressBars:
    """One bar per piece of work, on stderr, only on a terminal."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            TextColumn("{task.fields[note]}", style="dim"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=errors,
            disable=not errors.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._shown: dict[str, float] = {}

    def __enter__(self) -> ProgressBars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def __call__(self, label: str, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        if done < total and not note and now - self._shown.get(label, 0.0) < 0.1:  # a step may take a millisecond
            return
        self._shown[label] = now
        if label not in self._tasks or (done == 1 and total > 1):
            self._tasks[label] = self._bars.add_task(label, total=total, note="")
        self._bars.update(self._tasks[label], completed=done, total=total)
        if note:
            self._bars.update(self._tasks[label], note=note)


def print_summary(summary: Summary) -> None:
    """The table of cells: what was read back, and what guessing gets."""
    dataset, settings = summary.document["dataset"], summary.document["settings"]
    trials = max((cell["trials"] for cell in summary.cells), default=0)
    tested = {
        name: list(dict.fromkeys(cell.get(name, "") for cell in summary.cells))
        for name in ("dataset", "protocol", "model", "defense", "attack", "variant")
    }
    defended = "" if tested["defense"] == ["none"] else f"defence {', '.join(tested['defense'])}, "
    protocols = ", ".join(tested["protocol"]) or settings["protocol"]
    console.print(
        f"{dataset['name']}: {dataset['rows']:,} rows, {len(dataset['columns'])} columns. {protocols}, "
        f"model {', '.join(tested['model'])}, {defended}attack {', '.join(tested['attack'])}, "
        f"{trials} attacked batches per line.",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    columns = {name: justify for name, justify in COLUMNS.items() if len(tested.get(name, ("one", "more"))) > 1}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in columns.items():
        table.add_column(heading, justify=justify, no_wrap=heading not in tested)
    for cell in summary.cells:
        name, guess = best_guess(cell)
        line = {
            "dataset": cell["dataset"],
            "protocol": cell["protocol"],
            "variant": cell.get("variant") or "as given",
            "model": spec(cell["model"]),
            "defense": spec(cell["defense"], bare=True),
            "batch": str(cell["batch_size"]),
            "point": cell["attack_point"],
            "attack": spec(cell["attack"]),
            "cells read": percent(cell["metrics"].get("accuracy")),
            "best guess": f"{percent(guess, spread=False)} {name}",
            "rows exact": f"{cell['rows_exact']} of {cell['rows']}",
            "guessed": str(cell["rows_guessed"]),
            "outcome": cell["outcome"] + (f", {cell['failed']} failed" if cell["failed"] else ""),
        }
        table.add_row(*(escape(line[name]) for name in columns))
    console.print(table)


COLUMNS: dict[str, JustifyMethod] = {
    "dataset": "left",
    "protocol": "left",
    "model": "left",
    "defense": "left",
    "batch": "right",
    "point": "left",
    "attack": "left",
    "variant": "left",
    "cells read": "right",
    "best guess": "right",
    "rows exact": "right",
    "guessed": "right",
    "outcome": "left",
}


def percent(interval: dict[str, float | None] | None, *, spread: bool = True) -> str:
    """``81 % (76-86)``."""
    if interval is None or interval["mean"] is None:
        return "-"
    mean = f"{100 * interval['mean']:.0f} %"
    if not spread or interval["low"] is None or interval["high"] is None:
        return mean
    return f"{mean} ({100 * interval['low']:.0f}-{100 * interval['high']:.0f})"


def print_property(summary: dict[str, Any]) -> None:
    """Property inference in the terminal: accuracy of every meta-model beside guessing."""
    table = Table(box=box.SIMPLE)
    for name in ("defence", "classes", "loss", "accuracy", "95 %", "guessing", "squared error", "guessing"):
        table.add_column(name, justify="left" if name in {"defence", "loss"} else "right")
    for cell in summary["cells"]:
        found = cell["accuracy"]
        spread = "" if found["low"] is None else f"{found['low']:.0%} to {found['high']:.0%}"
        table.add_row(
            cell["defense"],
            str(cell["classes"]),
            f"{cell['loss']} {cell['hierarchy']}".strip(),
            f"{found['mean']:.0%}",
            spread,
            f"{max(cell['chance'], cell['most_frequent']):.0%}",
            f"{cell['mse']['mean']:.3g}",
            f"{cell['guessing_mse']:.3g}",
        )
    made = summary["models"][0]
    console.print(
        f"{summary['dataset']['name']}: the share of rows with {summary['settings']['property_text']}, read from the "
        f"{summary['settings']['observed']} of {made['targets']:,} models after {made['shadows']:,} shadow models.",
        highlight=False,
    )
    console.print(table)
    costs = Table(box=box.SIMPLE)
    for name in ("defence", "model's accuracy", "balanced", "rows trained on", "epsilon"):
        costs.add_column(name, justify="left" if name == "defence" else "right")
    for each in summary["models"]:
        costs.add_row(
            each["defense"],
            f"{each['target_accuracy']['mean']:.1%}",
            f"{each['target_balanced_accuracy']['mean']:.1%}",
            f"{each['rows_trained']:,} of {each['rows_held']:,}",
            "-" if each["epsilon"] is None else f"{each['epsilon']:.2g}",
        )
    console.print(costs)
