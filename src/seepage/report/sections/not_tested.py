"""What was not tested, and what of the plan could not be run."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.results.facts import NotRun
from seepage.results.summary import Summary

_STATES = {"impossible": "cannot be run", "crashed": "broke down", "missing": "not reached yet"}
# The message of an internal error may hold a value of the table ("could not convert ..."), so it is not shown.
_BROKE = "An internal error stopped it; what happened is in the folder errors of the run."


@dataclass(frozen=True)
class NotTested:
    """Sentences about what this run says nothing about, and the parts of its plan that gave no number."""

    sentences: tuple[str, ...]
    not_run: tuple[NotRun, ...]

    def state(self, entry: NotRun) -> str:
        """Why there is no number, in two or three words."""
        return _STATES[entry.state]

    def why(self, entry: NotRun) -> str:
        """The reason."""
        return _BROKE if entry.state == "crashed" else entry.reason


def not_tested(summary: Summary) -> NotTested:
    """What is not known."""
    return NotTested(summary.not_tested, summary.not_run)


SECTION = Section(
    name="not_tested",
    title="What was not tested",
    short="Not tested",
    studies=(Summary,),
    place=94,
    view=not_tested,
)
