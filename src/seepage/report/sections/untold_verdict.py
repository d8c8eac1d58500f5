"""The verdict on captured updates whose rows nobody knows: what is proven, and what such an attack is worth."""

from __future__ import annotations

from seepage.report.level import SERIOUS_GAIN, Level
from seepage.report.section import Section
from seepage.report.verdict import Tile, Verdict, gaps
from seepage.report.words import count, percent, plural, spec
from seepage.results.updates import UpdatesResult, UpdatesSummary

MEANINGS = {
    Level.LEAKS: "Rows can be read back from these updates: some are proven by the update itself, or the attack beats "
    "guessing by at least 20 percentage points of the cells in simulations of the same shape.",
    Level.SOME: "In simulations of the same shape the attack gets more cells right than guessing does, or which "
    "categories occur can be told; no row of these updates is proven.",
    Level.INCOMPLETE: "No row is proven and the simulations show no gain, but without the rows behind the updates "
    "nobody can say what was read. That is not evidence of privacy.",
    Level.NOT_MEASURED: "No attack could be mounted on these updates. That says nothing about privacy.",
}


def untold_verdict(summary: UpdatesSummary) -> Verdict | None:
    """The plain answer; None where the rows were known and what was read is compared with them."""
    own = [cell for cell in summary.cells if cell.captured]
    if any(cell.with_truth for cell in own):
        return None
    known = [cell for cell in own if cell.measured]
    if not known and _totals(summary):
        level = Level.SOME
        headline = "No attack on rows could be mounted; but which categories occur can be told."
        sentences = (*_totals(summary), *summary.warnings, *gaps(summary))
        return Verdict(level=level, meaning=MEANINGS[level], headline=headline, sentences=sentences)
    if not known:
        headline = "No attack gave an answer, so nothing can be said about what leaks."
        why = dict.fromkeys(update.why_not for update in summary.updates if update.why_not)
        level = Level.NOT_MEASURED
        return Verdict(level=level, meaning=MEANINGS[level], headline=headline, sentences=(*why, *gaps(summary)))
    worst = max(known, key=_rank)
    level = _level(worst)
    return Verdict(
        level=level,
        meaning=MEANINGS[level],
        headline=_headline(worst),
        tiles=_tiles(worst),
        sentences=(*_sentences(worst, summary), *summary.warnings, *gaps(summary)),
    )


def gain_of(result: UpdatesResult) -> float | None:
    """How many more cells than the best guess the attack is expected to have right, as a share."""
    gains = [each.gain for each in result.sureness if each.gain is not None]
    return sum(gains) / len(gains) if gains else None


def _rank(result: UpdatesResult) -> tuple[float, float]:
    return (result.rows_certified or 0) / max(result.rows, 1), gain_of(result) or 0.0


def _level(result: UpdatesResult) -> Level:
    gain = gain_of(result) or 0.0
    if result.rows_certified or gain >= SERIOUS_GAIN:
        return Level.LEAKS
    return Level.SOME if gain > 0 else Level.INCOMPLETE


def _headline(result: UpdatesResult) -> str:
    updates = f"{plural(result.trials, 'captured update')} of {result.sender}"
    if result.rows_certified == result.rows:
        return f"All {count(result.rows)} rows behind {updates} can be read, with proof."
    proven = f"{count(result.rows_certified)} of the" if result.rows_certified else "None of the"
    return f"{proven} {count(result.rows)} rows behind {updates} can be read with proof."


def _tiles(result: UpdatesResult) -> tuple[Tile, ...]:
    expected = result.metrics.get("expected")
    guesses = [each.guess.mean for each in result.sureness if each.guess]
    tiles = []
    if result.rows_certified is not None:
        share = result.rows_certified / max(result.rows, 1)
        note = f"of {count(result.rows)}; their numbers are right up to the client's scaling"
        tiles.append(Tile(title="rows read with proof", value=count(result.rows_certified), note=note, share=share))
    if expected:
        note = "proven rows count as right; the others as often as in simulations of the same shape"
        tiles.append(Tile(title="cells right, estimated", value=percent(expected.mean), note=note, share=expected.mean))
    if guesses:
        guess = sum(guesses) / len(guesses)
        note = "in simulations of the same shape"
        tiles.append(Tile(title="cells right by guessing", value=percent(guess), note=note, share=guess, guess=True))
    return tuple(tiles)


def _sentences(result: UpdatesResult, summary: UpdatesSummary) -> list[str]:
    told = [
        f"Attack {spec(result.attack)} on round {result.rounds} ({result.protocol}, model {spec(result.model)}), "
        "without knowing the rows: nobody compared what was read with them.",
    ]
    if result.rows_certified:
        told.append(
            "A certified row is proven by the update itself: each category is right, and each number within 0.02 "
            "deviations."
        )
    elif result.rows_certified is None:
        told.append("This attack proves nothing; what it is worth is known from simulations only.")
    told += _totals(summary)
    if not any(not cell.captured for cell in summary.cells):
        told.append("No simulation was run (--simulations 0), so nothing is said about rows without proof.")
    return told


def _totals(summary: UpdatesSummary) -> list[str]:
    """What attacks on all rows together say."""
    listed = next((each for each in summary.tallies if each.captured and each.columns and each.measured), None)
    if listed is None:
        return []
    every = sum(column.categories for column in listed.columns)
    unknown = sum(column.untold or 0.0 for column in listed.columns)
    beside = next((each for each in summary.tallies if not each.captured and each.attack == listed.attack), None)
    right = beside.metrics.get("presence") if beside else None
    sure = f" In the simulation {percent(right.mean)} of such statements were right." if right else ""
    return [
        f"Of {count(every - unknown)} of {count(every)} categories the server can say whether any row behind the "
        f"update has it (attack {spec(listed.attack)}).{sure}"
    ]


SECTION: Section[UpdatesSummary] = Section(
    name="untold_verdict", title="Verdict", short="Verdict", studies=(UpdatesSummary,), place=11, view=untold_verdict
)
