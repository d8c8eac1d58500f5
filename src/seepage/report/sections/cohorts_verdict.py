"""The verdict on sums: the most that a server behind secure aggregation read, and the smallest cohort that hid."""

from __future__ import annotations

from seepage.report.level import Level, level_of
from seepage.report.section import Section
from seepage.report.verdict import Tile, Verdict, by_chance, gaps, light
from seepage.report.words import percent, plural, spec
from seepage.results.cohorts import CohortsResult, CohortsSummary, Hiding

MEANINGS = {
    Level.LEAKS: "A sum over a cohort of clients does not hide them here: rows are read back, or at least 20 "
    "percentage points more than by chance.",
    Level.SOME: "More is read from sums over cohorts than by chance, but the leak is limited.",
    Level.INCOMPLETE: "Nothing was found where it could be measured, but some parts of the plan failed or were run too "
    "few times to rule out a gain of 20 points. That is not evidence of privacy.",
    Level.NOT_FOUND: "No tested attack read more from the sums than chance does. This is no proof of safety: it holds "
    "for an honest server, these cohorts, rounds and attacks, and the threat model below only.",
    Level.NOT_MEASURED: "No attack gave anything to score. A failed attack says nothing about privacy.",
}
WHAT = {
    "rows": "of the rows of its cohorts exactly",
    "client": "of the rows of a client that was absent once exactly",
    "owners": "of the rows of its cohorts, and whose they are",
    "entries": "of the categories that only one client has, and who it is",
    "categories": "of the categories, whether anybody in its cohorts has them",
}
TITLES = {
    "rows": "rows read from sums",
    "client": "rows of the client that was absent once",
    "owners": "rows with their owner",
    "entries": "lone categories with their owner",
    "categories": "categories told to be there or not",
}
ONE_SUM = (
    "“Hides” is said of one sum, an honest server and the attack rows_of_sum only: several rounds, changing cohorts, a "
    "round that is run again without a client, or a server that cheats can open what one sum hides."
)


def level(cell: CohortsResult) -> Level:
    """Where one attack in one setting stands; rows that are read beyond chance are a leak."""
    gain = cell.judged.get("gain")
    reads_rows = cell.reads in ("rows", "client", "owners") and gain is not None and gain.mean > 0
    return level_of(cell, gain, reads_rows=reads_rows)


def gain_of(cell: CohortsResult) -> float:
    """What was read beyond chance; nothing for what was not measured."""
    gain = cell.judged.get("gain")
    return gain.mean if gain else float("-inf")


def verdict(summary: CohortsSummary) -> Verdict:
    """The plain answer."""
    levels = [level(cell) for cell in summary.cells]
    found = light(levels, summary.not_run)
    worst = [
        max((cell for cell in summary.cells if cell.reads == reads and cell.measured), key=gain_of, default=None)
        for reads in WHAT
    ]
    known = [cell for cell in worst if cell is not None]
    if not known:
        headline = "Nothing could be measured, so nothing can be said about what sums give away."
        return Verdict(level=found, meaning=MEANINGS[found], headline=headline, sentences=tuple(gaps(summary)))
    first, *rest = known
    hidden = [sentence(each) for each in summary.hiding]
    return Verdict(
        level=found,
        meaning=MEANINGS[found],
        headline=_read(first),
        tiles=tuple(_tile(cell) for cell in known),
        sentences=(*map(_read, rest), *hidden, *([ONE_SUM] if hidden else []), *by_chance(levels), *gaps(summary)),
    )


def sentence(hiding: Hiding) -> str:
    """The smallest cohort that hides, predicted and measured."""
    clients = f"clients of {plural(hiding.rows_each, 'row')}"
    where = f"{spec(hiding.model)} on {hiding.dataset}, {clients}"
    predicted = "no row can be read by algebra" if hiding.predicted is None else f"{hiding.predicted}"
    said = f"The smallest cohort that hides in one sum ({where}): predicted by counting {predicted}"
    if hiding.measured is None:
        tested = "no cohort of one round was tested" if hiding.leaking is None else "none of those tested hides"
        return f"{said}; measured: {tested}."
    below = f", while rows of cohorts of {hiding.leaking} are read" if hiding.leaking is not None else ""
    return f"{said}; measured: {hiding.measured} is the smallest tested that does{below}."


def amount(cell: CohortsResult, name: str) -> str:
    """A share in words."""
    value = cell.metrics.get(name)
    return percent(None if value is None else value.mean)


def setting(cell: CohortsResult) -> str:
    """What was watched, in words."""
    return f"cohorts of {cell.cohort_size} of {cell.clients}, {plural(cell.rounds, 'round')}"


def _read(cell: CohortsResult) -> str:
    """What one attack read, and where."""
    return (
        f"From a sum over a cohort of clients the server read {amount(cell, 'read')} {WHAT[cell.reads]} "
        f"({cell.attack}, {setting(cell)}); by chance it would be {amount(cell, 'guess')}."
    )


def _tile(cell: CohortsResult) -> Tile:
    value = cell.metrics.get("read")
    return Tile(title=TITLES[cell.reads], value=amount(cell, "read"), share=value.mean if value else None)


SECTION = Section(
    name="cohorts_verdict", title="Verdict", short="Verdict", studies=(CohortsSummary,), place=10, view=verdict
)
