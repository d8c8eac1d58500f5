"""The verdict on a cheating server: the most rows that it read, and whether the client could have noticed."""

from __future__ import annotations

from seepage.report.level import Level, level_of
from seepage.report.section import Section
from seepage.report.verdict import Tile, Verdict, by_chance, gaps, light
from seepage.report.words import percent, plural
from seepage.results.servers import ServersResult, ServersSummary

MEANINGS = {
    Level.LEAKS: "A server that cheats reads rows of its clients to the last digit.",
    Level.SOME: "A server that cheats reads some rows of its clients, but the leak is limited.",
    Level.INCOMPLETE: "Nothing was found where it could be measured, but some parts of the plan failed or were run too "
    "few times. That is not evidence of privacy.",
    Level.NOT_FOUND: "No tested attack of a cheating server read a row. This is no proof of safety: it holds for these "
    "attacks and models and for the threat model below only.",
    Level.NOT_MEASURED: "No attack gave anything to score. An attack that does not fit the model says nothing about "
    "privacy.",
}


def exact_of(cell: ServersResult) -> float:
    """The share of rows that were read; nothing for what was not measured."""
    found = cell.judged.get("exact")
    return found.mean if found else float("-inf")


def level(cell: ServersResult) -> Level:
    """How bad one attack is."""
    return level_of(cell, cell.judged.get("exact"), reads_rows=exact_of(cell) > cell.guess)


def verdict(summary: ServersSummary) -> Verdict:
    """The plain answer."""
    levels = [level(cell) for cell in summary.cells]
    over = light(levels, summary.not_run)
    known = [cell for cell in summary.cells if cell.measured]
    if not known:
        headline = "Nothing could be measured, so nothing can be said about a server that cheats."
        return Verdict(level=over, meaning=MEANINGS[over], headline=headline, sentences=tuple(gaps(summary)))
    agreed = [cell for cell in known if not cell.attack.startswith("module")]
    best = max(agreed or known, key=lambda cell: (exact_of(cell), cell.batch_size))
    largest = max(known, key=lambda cell: (exact_of(cell) > 0, cell.batch_size * max(exact_of(cell), 0.0)))
    return Verdict(
        level=over,
        meaning=MEANINGS[over],
        headline=f"A server that cheats, sending weights of its own making, {_sentence(best)}",
        tiles=(
            Tile(title="rows read exactly", value=percent(exact_of(best)), share=exact_of(best)),
            Tile(title="rows right by a guess", value=percent(best.guess), share=best.guess, guess=True),
            Tile(title="clients whose checks raise an alarm", value=percent(_mean(best, "noticed"))),
        ),
        sentences=(
            *([f"The most rows at once: the server {_sentence(largest)}"] if largest is not best else []),
            _noticed(known),
            *by_chance(levels),
            *gaps(summary),
        ),
    )


def _sentence(cell: ServersResult) -> str:
    """What one attack read, and of how much."""
    rounds = "in one round" if cell.rounds == 1 else f"within {plural(cell.rounds, 'round')}"
    whose = ", with an architecture of its own" if cell.attack.startswith("module") else ""
    return (
        f"read {percent(exact_of(cell))} of {plural(cell.batch_size, 'row')} exactly {rounds} "
        f"({cell.attack}, {cell.protocol}{whose}); {percent(_mean(cell, 'certified'))} come with a proof."
    )


def _noticed(cells: list[ServersResult]) -> str:
    """What a client's checks would say."""
    missed = [cell for cell in cells if (_mean(cell, "noticed") or 0.0) < 1.0]
    if not missed:
        said = "A client that checks the weights before it trains would have noticed every one of these models."
        if any(cell.attack.startswith("disguised") for cell in cells):
            return said
        return f"{said} A server that knows the checks (the attack disguised) was not tried: it can pass some of them."
    names = ", ".join(dict.fromkeys(cell.attack for cell in missed))
    return f"A client's checks of the weights miss some of these models ({names})."


def _mean(cell: ServersResult, name: str) -> float | None:
    value = cell.metrics.get(name)
    return None if value is None else value.mean


SECTION = Section(
    name="servers_verdict", title="Verdict", short="Verdict", studies=(ServersSummary,), place=10, view=verdict
)
