"""`seepage audit updates CAPTURE --follow`: attack what comes, and tell it round by round."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seepage._core import InputError
from seepage.cli.counting import counted
from seepage.cli.declared import Typed
from seepage.cli.running import Where, ask, finish, run_folder, told_to_stop
from seepage.cli.unfinished import tell_missing

if TYPE_CHECKING:
    from seepage.results import Summary
    from seepage.runs import Plan
    from seepage.studies.study import Opened

QUIET = 10.0  # minutes without a new update


def follow_capture(typed: Typed, where: Where, quiet: float | None, rounds: int | None) -> None:
    """Follow a capture until it is quiet, has enough rounds, or the user ends it; then show what came out."""
    from seepage.cli.console import ProgressBars, tell
    from seepage.runs.following import Patience, follow, gathered

    capture, minutes = str(typed.get("capture") or ""), quiet or QUIET
    folder = run_folder(where.out, f"{Path(capture).resolve().name}-updates")

    def begin(plan: Plan, sources: list[Opened]) -> None:
        from seepage.runs.bounds import is_begun, too_much

        for note in dict.fromkeys(note for source in sources for note in source.notes):
            typer.echo(f"note: {note}", err=True)
        if not is_begun(folder):
            ask(too_much(plan, sources), where)

    tell(f"Following {capture} into {folder}; it ends after {minutes:g} minutes without a new update, or with Ctrl-C.")
    summary, known = None, 0
    patience = Patience(quiet=60 * minutes, rounds=rounds)
    with told_to_stop(folder):
        try:
            with (
                ProgressBars() as bars,
                closing(follow(typed, folder, patience=patience, begin=begin, progress=bars)) as rounds_so_far,
            ):
                for summary in rounds_so_far:
                    known = _tell_new(summary, known)
        except KeyboardInterrupt:  # while something was attacked: what was finished before is told all the same
            summary = gathered(folder)
            if summary is None:
                raise
            tell_missing(summary)
            typer.echo(f"To continue: the same command with --out {folder}", err=True)
    if summary is None:
        raise InputError(f"There was no update in {capture} as long as it was followed; nothing was attacked.")
    for missing in summary.not_run:
        typer.echo(f"warning: not run: {missing.what}. {missing.reason}", err=True)
    finish(summary, folder, getattr(where, "as_json", False), told=True)


def _tell_new(summary: Summary, known: int) -> int:
    """A line for each round that is new, or has more updates than before; returns how many updates are known."""
    from seepage.cli.console import tell
    from seepage.results.captured_rounds import round_totals
    from seepage.results.updates import UpdatesSummary

    assert isinstance(summary, UpdatesSummary)
    seen = 0
    for total in round_totals(summary.rounds):
        seen += total.updates
        if seen <= known:
            continue
        proven = "nothing could be certified"
        if total.certified is not None:
            proven = f"{total.certified} of {counted(total.rows, 'row')} certified, {total.certified_sum} in all rounds"
        more = (
            f"; {counted(total.present_new, 'category', 'categories')} more known to occur" if total.present_new else ""
        )
        tell(f"round {total.round}: {counted(total.updates, 'update')}, {proven}{more}")
    return seen
