"""What people see in a terminal: progress bars and the summary table. Quiet in a pipe."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
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

from seepage.results import Summary
from seepage.results.summary import HEADINGS

console = Console()
errors = Console(stderr=True)


class ProgressBars:
    """One bar per piece of work, on stderr, only on a terminal."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
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

    def __call__(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self._shown.get(label, 0.0) < 0.1:  # a step may take a millisecond
            return
        self._shown[label] = now
        if label not in self._tasks or (done == 1 and total > 1):
            self._tasks[label] = self._bars.add_task(label, total=total)
        self._bars.update(self._tasks[label], completed=done, total=total)


def print_summary(summary: Summary) -> None:
    """The table of cells, and one sentence on the worst of them."""
    dataset = summary.document["dataset"]
    trials = max((cell["trials"] for cell in summary.cells), default=0)
    table = Table(
        title=f"{dataset['name']}: {dataset['rows']:,} rows, {trials} attacked batches per line",
        title_justify="left",
    )
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("model", "point", "attack", "outcome") else "right")
    for row in summary.rows():
        table.add_row(*row)
    console.print(table)
