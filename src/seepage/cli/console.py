"""What people see in a terminal: progress bars and the summary table. Quiet in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType

from rich import box
from rich.console import Console
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
from rich.table import Column, Table

from seepage._core.stopwatch import duration
from seepage.cli.counting import counted
from seepage.report.words import spec
from seepage.results import Interval, Summary
from seepage.results.cells import Coordinate
from seepage.results.property import PropertySummary
from seepage.results.rows import RowsResult, RowsSummary
from seepage.results.tallies import TallyResult
from seepage.results.vertical import VerticalResult

console = Console(width=None if sys.stdout.isatty() else 160)  # a pipe has no edge to wrap at
errors = Console(stderr=True)


EVERY = 30.0  # seconds between lines where there is no terminal


class ProgressBars:
    """One bar per piece of work, on stderr. Where that is no terminal: one line every half minute.

    Args:
        expected: seconds that all of it is estimated to take.
    """

    def __init__(self, expected: float | None = None) -> None:
        narrow = Column(no_wrap=True)
        self._bars = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            TextColumn("{task.fields[note]}", style="dim", table_column=Column(no_wrap=True, overflow="ellipsis")),
            BarColumn(bar_width=12, table_column=narrow),
            MofNCompleteColumn(table_column=narrow),
            TimeElapsedColumn(table_column=narrow),
            TimeRemainingColumn(table_column=narrow),
            console=errors,
            disable=not errors.is_terminal,
            transient=True,
            expand=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._shown: dict[str, float] = {}
        self._done: dict[str, int] = {}
        self._expected = expected
        self._begun = self._told = time.monotonic()

    def __enter__(self) -> ProgressBars:
        self._bars.start()
        if self._expected is not None:
            self._tasks[_ALL] = self._bars.add_task(_ALL, total=round(self._expected), note="seconds, an estimate")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def __call__(self, label: str, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        if not errors.is_terminal:
            self._line(now, label, done, total, note)
            return
        if done < total and not note and now - self._shown.get(label, 0.0) < 0.1:  # a step may take a millisecond
            return
        self._shown[label] = now
        if label not in self._tasks or (done == 1 and total > 1 and self._done.get(label, 0) > 1):  # begun anew
            self._hide_finished()
            self._tasks[label] = self._bars.add_task(label, total=total, note="")
        self._done[label] = done
        self._bars.update(self._tasks[label], completed=done, total=total)
        if note:
            self._bars.update(self._tasks[label], note=note)
        if self._expected is not None:
            self._bars.update(self._tasks[_ALL], completed=min(round(now - self._begun), round(self._expected)))

    def _hide_finished(self) -> None:
        """What has ended gives its line to what begins."""
        for task in self._bars.tasks:
            if task.finished and task.id != self._tasks.get(_ALL):
                self._bars.update(task.id, visible=False)

    def _line(self, now: float, label: str, done: int, total: int, note: str) -> None:
        """A line now and then, for logs."""
        if now - self._told < EVERY:
            return
        self._told = now
        taken = now - self._begun
        of = "" if self._expected is None else f" of about {duration(max(self._expected, taken))}"
        noted = f" ({note})" if note else ""
        errors.print(
            f"{duration(taken)}{of}: {label}{noted}, {done} of {total}", highlight=False, soft_wrap=True, markup=False
        )


_ALL = "in all"


def tell(line: str) -> None:
    """A line on stderr: wrapped between words on a terminal, whole in a pipe."""
    errors.print(line, highlight=False, markup=False, soft_wrap=not errors.is_terminal)


def print_summary(summary: Summary) -> None:
    """What came out, in a table: of rows what was read back, and what guessing gets; of other studies their numbers."""
    cells = [cell for cell in summary.cells if isinstance(cell, RowsResult | VerticalResult)]
    console.print(_heading(summary), highlight=False, soft_wrap=True, markup=False)
    if cells or summary.study in ("rows", "vertical"):
        if cells:
            console.print(_read_table(cells))
        if isinstance(summary, RowsSummary) and summary.tallies:
            console.print("All rows of an update together, and a guess from public marginals:", highlight=False)
            console.print(_tally_table(summary.tallies))
        return
    headings, lines = summary.lines()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    for line in lines:
        table.add_row(*(escape(word) for word in line))
    console.print(table)
    if isinstance(summary, PropertySummary):
        console.print(_cost_table(summary))
    for sentence in summary.warnings:
        console.print(sentence, highlight=False, soft_wrap=True, markup=False)


def _heading(summary: Summary) -> str:
    """The table, and what all lines have in common."""
    dataset = summary.dataset
    cells = [*summary.cells, *getattr(summary, "tallies", ())]
    trials = max((cell.trials for cell in cells), default=0)
    words = [f"{dataset.name}: {counted(dataset.rows, 'row')}, {counted(len(dataset.columns), 'column')}."]
    if isinstance(summary, PropertySummary) and summary.cells and summary.models:
        made, first = summary.models[0], summary.cells[0]
        words.append(
            f"The share of rows with {first.property_text}, read from the {first.observed} of "
            f"{counted(made.targets, 'model')} after {counted(made.shadows, 'shadow model')}."
        )
    else:
        common = [
            f"{name.replace('_', ' ')} {values.pop()}"
            for name in ("protocol", "model", "defense", "attack")
            if len(values := {str(cell.place[name]) for cell in cells if name in cell.place}) == 1
        ]
        words.append(f"{', '.join(common)}; {counted(trials, *_TRIAL[summary.study])} per line.".lstrip("; "))
    return " ".join(words)


_TRIAL = {
    "rows": ("attacked batch", "attacked batches"),
    "vertical": ("recovery", "recoveries"),
    "training": ("run",),
    "parties": ("run",),
    "servers": ("attacked client", "attacked clients"),
    "updates": ("update",),
    "cohorts": ("federation",),
    "property": ("model",),
}


def _read_table(cells: Sequence[RowsResult | VerticalResult]) -> Table:
    """What was read of rows; coordinates that are the same in all lines are not said."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.place))
    varying = [name for name in names if len({cell.place[name] for cell in cells}) > 1 or name in _ALWAYS]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in varying:
        table.add_column(_SHORT.get(name, name), justify="right" if name in _NUMBERS else "left", no_wrap=True)
    for heading in ("cells read", "best guess", "rows exact", "near", "guessed", "outcome"):
        table.add_column(heading, justify="left" if heading == "outcome" else "right")
    for cell in cells:
        name, guess = cell.best_guess
        table.add_row(
            *(escape(_word(each, cell.place[each])) for each in varying),
            percent(cell.metrics.get("accuracy")),
            f"{percent(guess, spread=False)} {name}",
            f"{cell.rows_exact} of {cell.rows}",
            str(cell.rows_near),
            str(cell.rows_guessed_near),
            cell.ending + (f", {cell.failed} failed" if cell.failed else ""),
        )
    return table


def _tally_table(tallies: Sequence[TallyResult]) -> Table:
    """What was told of all rows together."""
    names = list(dict.fromkeys(name for cell in tallies for name in cell.place))
    varying = [n for n in names if len({cell.place[n] for cell in tallies}) > 1 or n in (*_ALWAYS, "attack")]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in varying:
        table.add_column(_SHORT.get(name, name), justify="right" if name in _NUMBERS else "left", no_wrap=True)
    for heading in ("categories told", "guessed", "of one row", "counted wrongly", "guessed", "in interval", "outcome"):
        table.add_column(heading, justify="left" if heading == "outcome" else "right")
    for cell in tallies:
        table.add_row(
            *(escape(_word(each, cell.place[each])) for each in varying),
            percent(cell.metrics.get("presence")),
            percent(cell.guesses.get("presence"), spread=False),
            percent(cell.metrics.get("lone_found"), spread=False),
            percent(cell.metrics.get("count_error")),
            percent(cell.guesses.get("count_error"), spread=False),
            percent(cell.metrics.get("count_covered"), spread=False),
            cell.ending + (f", {cell.failed} failed" if cell.failed else ""),
        )
    return table


_ALWAYS = ("batch_size", "attack_point")
_SHORT = {"batch_size": "batch", "attack_point": "point", "watched": "rounds"}
_NUMBERS = ("batch_size", "people", "batches", "watched")


def _word(name: str, value: Coordinate) -> str:
    if name in ("model", "attack", "defense"):
        return spec(str(value), bare=name == "defense")
    return str(value) or "as given"


def percent(interval: Interval | None, *, spread: bool = True) -> str:
    """``81 % (76-86)``."""
    if interval is None:
        return "-"
    mean = f"{100 * interval.mean:.0f} %"
    if not spread or interval.low is None or interval.high is None:
        return mean
    return f"{mean} ({100 * interval.low:.0f}-{100 * interval.high:.0f})"


def _cost_table(summary: PropertySummary) -> Table:
    """What defences cost the owners of models."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("defence", "model's accuracy", "balanced", "rows trained on", "epsilon"):
        table.add_column(name, justify="left" if name == "defence" else "right")
    for each in summary.models:
        table.add_row(
            each.defense,
            f"{each.target_accuracy.mean:.1%}",
            f"{each.target_balanced_accuracy.mean:.1%}",
            f"{each.rows_trained:,} of {each.rows_held:,}",
            "-" if each.epsilon is None else f"{each.epsilon:.2g}",
        )
    return table
