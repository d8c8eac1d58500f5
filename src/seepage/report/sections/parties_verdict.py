"""The verdict on parties: the most that one of them read of another beyond what it has without a message."""

from __future__ import annotations

from seepage.report.level import Level, level_of
from seepage.report.section import Section
from seepage.report.verdict import Tile, Verdict, by_chance, gaps, light
from seepage.report.words import percent, score
from seepage.results.parties import PartiesResult, PartiesSummary

MEANINGS = {
    Level.LEAKS: "A party reads another's secrets in the messages that cross anyway: at least 20 percentage points of "
    "the cells, or 0.1 of a ROC AUC of labels, beyond what it has without them.",
    Level.SOME: "A party reads more of another's secrets with the messages than without, but the leak is limited.",
    Level.INCOMPLETE: "Nothing was found where it could be measured, but some parts of the plan failed or were run too "
    "few times to rule out a gain of 20 points. That is not evidence of privacy.",
    Level.NOT_FOUND: "No tested attack read more with the messages than without. This is no proof of safety: it holds "
    "for these attacks, designs and defences and for the threat model below only.",
    Level.NOT_MEASURED: "No attack gave anything to score. A failed attack says nothing about privacy.",
}
WHO = {"columns": "The host read", "labels": "A guest read"}


def gain_of(cell: PartiesResult) -> float:
    """What was read beyond the baselines; nothing for what was not measured."""
    gain = cell.judged.get("gain")
    return gain.mean if gain else float("-inf")


def amount(cell: PartiesResult, name: str) -> str:
    """A share of cells, or an AUC of labels."""
    value = cell.metrics.get(name)
    shown = None if value is None else value.mean
    return percent(shown) if cell.reads == "columns" else score(shown)


def verdict(summary: PartiesSummary) -> Verdict:
    """The plain answer."""
    levels = [level_of(cell, cell.judged.get("gain")) for cell in summary.cells]
    level = light(levels, summary.not_run)
    worst = {
        reads: max((cell for cell in summary.cells if cell.reads == reads and cell.measured), key=gain_of, default=None)
        for reads in WHO
    }
    known = [cell for cell in worst.values() if cell is not None]
    if not known:
        headline = "Nothing could be measured, so nothing can be said about what leaks."
        return Verdict(level=level, meaning=MEANINGS[level], headline=headline, sentences=tuple(gaps(summary)))
    first, *rest = sorted(known, key=gain_of, reverse=True)
    return Verdict(
        level=level,
        meaning=MEANINGS[level],
        headline=_sentence(first),
        tiles=tuple(tile for cell in known for tile in _tiles(cell)),
        sentences=(
            *(_sentence(cell) for cell in rest),
            "These are the attacks that gained most, each beside the same knowledge without a message.",
            *by_chance(levels),
            *gaps(summary),
        ),
    )


def _sentence(cell: PartiesResult) -> str:
    """What one attack read, and behind what."""
    found = "of a guest's categories" if cell.attack.startswith("zeros_and_ones") else "of a guest's cells"
    what = f"{amount(cell, 'read')} {found}" if cell.reads == "columns" else "the labels with a ROC AUC of "
    what += "" if cell.reads == "columns" else amount(cell, "read")
    behind = "without a defence" if cell.defense == "none" else f"behind {cell.defense}"
    return (
        f"{WHO[cell.reads]} {what} ({cell.attack}, {cell.design}, {behind}); without messages the same attacker gets "
        f"{amount(cell, 'alone')}, a guess {amount(cell, 'guess')}."
    )


def _tiles(cell: PartiesResult) -> list[Tile]:
    title = "guest's cells read by the host" if cell.reads == "columns" else "ROC AUC of labels read by a guest"
    shares = [cell.metrics.get(name) for name in ("read", "alone")]
    return [
        Tile(title=f"{title}{more}", value=amount(cell, name), share=value.mean if value else None, guess=bool(more))
        for name, more, value in zip(("read", "alone"), ("", ", without messages"), shares, strict=True)
    ]


SECTION = Section(
    name="parties_verdict", title="Verdict", short="Verdict", studies=(PartiesSummary,), place=10, view=verdict
)
