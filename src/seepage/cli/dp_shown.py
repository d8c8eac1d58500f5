"""Verdicts on configured privacy, in a terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seepage.cli.counting import counted
from seepage.dp.findings import SEVERITIES, Verdict, plain
from seepage.dp.reconstruction import gaussian_reconstruction_bound, reconstruction_bound

if TYPE_CHECKING:
    from seepage.dp.canaries import Audited
    from seepage.dp.measuring import Measured

_COLOURS = {"wrong": "bold red", "doubtful": "yellow", "right": "green"}


def print_verdict(verdict: Verdict, measured: Measured | None, prior: float, *, asked: bool = False) -> None:
    """One setting: what it does, what it is worth, and what was found.

    Args:
        measured: what was seen of the mechanism, and ``asked`` whether anybody wanted to know.
        prior: chance of guessing a row exactly.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from seepage.cli.console import console

    console.print(f"[bold]{escape(verdict.what)}[/bold]  {escape(verdict.place)}", highlight=False)
    facts = Table(box=None, show_header=False, pad_edge=True, padding=(0, 2, 0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    for name, words in _facts(verdict, measured, prior, asked):
        facts.add_row(name, escape(words))
    console.print(facts)
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=True, padding=(0, 2, 0, 1))
    for heading in ("severity", "check", "finding"):
        table.add_column(no_wrap=heading != "finding")
    for each in verdict.findings:
        colour = _COLOURS[each.severity]
        remedy = f" [dim]{escape(each.remedy)}[/dim]" if each.remedy else ""
        table.add_row(f"[{colour}]{each.severity}[/{colour}]", escape(each.check), escape(each.sentence) + remedy)
    console.print(table)


def _facts(verdict: Verdict, measured: Measured | None, prior: float, asked: bool) -> list[tuple[str, str]]:
    at = f" at delta {verdict.delta:g}" if verdict.delta else ""
    lines = [("does", f"{verdict.does}."), ("protects", f"{verdict.protects}.")]
    claimed = "nothing" if verdict.claimed is None else f"epsilon {plain(verdict.claimed)}"
    recomputed = plain(verdict.recomputed)
    whole = "not known" if verdict.recomputed is None else f"epsilon {recomputed}{at}, for the whole run"
    lines += [("claimed", claimed), ("recomputed", whole)]
    lines += [("", f"{plain(value)} {words}") for words, value in verdict.others]
    if measured is not None and measured.runs:
        above = verdict.claimed is not None and measured.epsilon > verdict.claimed
        told = f"told in {measured.hits:,} of {measured.runs:,} runs, with {counted(measured.alarms, 'false alarm')}"
        more = ", which is more than was claimed" if above else ""
        lines.append(("measured", f"epsilon at least {plain(measured.epsilon)} (95 %){more}: {told}"))
    elif measured is not None:
        lines.append(("measured", "epsilon is unbounded: there is no noise to hide behind"))
    elif asked:
        lines.append(("measured", "not: it cannot be played, or has too many steps"))
    if verdict.recomputed is not None:
        most = _readable(verdict, prior)
        lines.append(("a row", f"{_percent(prior)} to guess it exactly, at most {_percent(most)} to read it exactly"))
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _readable(verdict: Verdict, prior: float) -> float:
    """The bound on reading a row exactly: epsilon's, or the Gaussian one where that is lower."""
    assert verdict.recomputed is not None
    bound = reconstruction_bound(prior, verdict.recomputed, verdict.delta or 0.0)
    distance = getattr(verdict.mechanism, "distance", None)
    if distance is None or not math.isfinite(verdict.recomputed):
        return bound
    return min(bound, gaussian_reconstruction_bound(prior, distance))


def totals(verdicts: Sequence[Verdict]) -> str:
    """``2 settings: 3 wrong, 1 doubtful, 4 right.``"""
    found = [finding.severity for verdict in verdicts for finding in verdict.findings]
    counts = ", ".join(f"{found.count(each)} {each}" for each in SEVERITIES)
    open_ = sum(verdict.recomputed is None for verdict in verdicts)
    more = f" {counted(open_, 'epsilon')} could not be recomputed." if open_ else ""
    return f"{counted(len(verdicts), 'setting')}: {counts}.{more}"


def as_json(verdict: Verdict, measured: Measured | None, prior: float) -> dict[str, object]:
    """The same for programs; an epsilon without bound is the word ``unbounded``, an unknown one null."""
    return {
        "what": verdict.what,
        "place": verdict.place,
        "does": verdict.does,
        "protects": verdict.protects,
        "delta": verdict.delta,
        "claimed": verdict.claimed,
        "recomputed": _number(verdict.recomputed),
        "others": {words: _number(value) for words, value in verdict.others},
        "measured_at_least": None if measured is None else _number(measured.epsilon),
        "prior": prior,
        "read_exactly_at_most": None if verdict.recomputed is None else _readable(verdict, prior),
        "holds": verdict.holds,
        "findings": [
            {"severity": each.severity, "check": each.check, "sentence": each.sentence, "remedy": each.remedy}
            for each in verdict.findings
        ],
    }


def _number(value: float | None) -> float | str | None:
    return "unbounded" if value is not None and math.isinf(value) else value


def print_audited(found: Audited, claimed: float | None) -> None:
    """One audit with canaries: the two bounds, and where they come from."""
    from rich.table import Table

    from seepage.cli.console import console

    table = Table(box=None, show_header=False, pad_edge=True, padding=(0, 2, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    table.add_row(
        "trained", f"on {counted(found.rows, 'row')}, {counted(found.steps, 'noisy gradient')}, each with a share of "
                   f"{found.rate:.2g} of the rows",
    )  # fmt: skip
    table.add_row("canaries", f"{found.right:,} of {found.guesses:,} guesses right, {found.canaries:,} coins thrown")
    table.add_row("measured", f"epsilon at least {plain(found.lower)} (95 %)")
    table.add_row("accountant", f"epsilon at most {plain(found.upper)} at delta {found.delta:g}")
    if claimed is not None:
        table.add_row("claimed", f"epsilon {plain(claimed)}")
    console.print(table)
    limit = found.upper if claimed is None else claimed
    whose = "the accountant's epsilon" if claimed is None else "the claim"
    if found.lower > limit:
        console.print(f"[bold red]wrong[/bold red]  More is told than {whose} allows.", highlight=False)
    else:
        console.print(
            f"[green]right[/green]  Nothing speaks against {whose}. A low measurement proves nothing.", highlight=False
        )
