"""Progress where a notebook shows it: one bar for each piece of work, in the cell's output, gone when all is done."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from seepage._core import Progress, silent

OFTEN = 0.2  # seconds between two drawings: a message for each step would fill the notebook's pipe
SHOWN = 4  # pieces of work, the last ones


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, which shows HTML."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def progress_here(given: Progress | None) -> Iterator[Progress]:
    """The progress that was given; without one, bars in a notebook and nothing elsewhere."""
    if given is not None or not in_notebook():
        yield given or silent
        return
    from IPython.display import display

    bars = NotebookBars(display)
    try:
        yield bars
    finally:
        bars.close()


class NotebookBars:
    """Bars in the output of a cell.

    Args:
        display: IPython's, which returns a handle that shows something else in the same place.
    """

    def __init__(self, display: Any) -> None:
        self._handle = display(_Page(""), display_id=True)
        self._work: dict[str, tuple[int, int, str]] = {}
        self._drawn = 0.0

    def __call__(self, label: str, done: int, total: int, note: str = "") -> None:
        """Show how far a piece of work is."""
        known = self._work.pop(label, (0, 0, ""))  # the last one told of stands last
        self._work[label] = (done, total, note or known[2])
        now = time.monotonic()
        if done >= total or now - self._drawn >= OFTEN:
            self._drawn = now
            self._handle.update(_Page("".join(_bar(name, *work) for name, work in list(self._work.items())[-SHOWN:])))

    def close(self) -> None:
        """Take the bars away: the result stands in their place."""
        self._handle.update(_Page(""))


class _Page:
    """Some HTML, and the same as text for who shows none."""

    def __init__(self, content: str) -> None:
        self._content = content

    def _repr_html_(self) -> str:
        return f"<div>{self._content}</div>"

    def __repr__(self) -> str:
        return ""


def _bar(label: str, done: int, total: int, note: str) -> str:
    words = html.escape(f"{label}{', ' if note else ''}{note}")
    return (
        f'<div style="display: flex; gap: 1em"><progress max="{max(total, 1)}" value="{done}" aria-label="{words}">'
        f"</progress><span>{done:,} of {total:,}</span><span>{words}</span></div>"
    )
