"""The verdict on rows: what was read back, how that compares with guessing, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from seepage.report import words
from seepage.report.choices import MORE_MAY, safest_of
from seepage.report.leaks import Leak, ReadRows, amount_read, guessed_from, leaks_of, reader_of, with_truth, worst_of
from seepage.report.level import Level
from seepage.report.section import Section
from seepage.report.totals import level_of, only_small_updates, sentences_of, totals_of
from seepage.report.verdict import Tile, Verdict, by_chance, gaps, light
from seepage.report.words import count, percent
from seepage.report.worth import worthless
from seepage.results.cells import Coordinate
from seepage.results.row_numbers import ColumnNumbers
from seepage.results.rows import RowsSummary
from seepage.results.updates import UpdatesSummary
from seepage.results.vertical import VerticalSummary

MEANINGS = {
    Level.LEAKS: "Private rows can be read back. The attack beats guessing: it read more rows, nearly at least, than "
    "any guess, or at least 20 percentage points more cells than a guess gets right.",
    Level.SOME: "The attack gets more right than guessing does, or read single rows, but the leak is limited.",
    Level.INCOMPLETE: "Nothing was found where the attack could be measured, but some parts of the plan or attacks "
    "failed, ran out of their budget or were tried too few times to rule out a gain of 20 points. That is not evidence "
    "of privacy.",
    Level.NOT_FOUND: "None of the tested attacks did better than guessing. This is no proof of safety: it holds for "
    "the tested attacks and settings and for the threat model below only.",
    Level.NOT_MEASURED: "No attack gave anything to score. A failed attack says nothing about privacy.",
}


TOTALS = {
    Level.SOME: "No single row was read, but more is told of all rows together than public statistics tell: which "
    "categories occur, or how many rows have them.",
    Level.INCOMPLETE: "Of all rows together no more was told than public statistics tell. Attacks on single rows did "
    "not apply to these updates, so nothing is known of them; that is not evidence of privacy.",
}


def verdict(summary: ReadRows) -> Verdict:
    """The plain answer."""
    leaks = leaks_of(summary)
    levels = [leak.level for leak in leaks]
    level = light(levels, summary.not_run)
    worst = worst_of(leaks)
    totals = totals_of(summary) if isinstance(summary, RowsSummary) else ()
    told = sentences_of(totals)
    if worst is None and told:
        alone = level_of(totals) or level
        headline = f"No attack on single rows applied. {told[0]}"
        rest = (*told[1:], *gaps(summary))
        return Verdict(level=alone, meaning=TOTALS[alone], headline=headline, sentences=rest)
    if worst is None:
        headline = "Nothing could be measured, so nothing can be said about what leaks."
        return Verdict(level=level, meaning=MEANINGS[level], headline=headline, sentences=tuple(gaps(summary)))
    sentences = [
        *_proven(worst),
        _setting(worst, sum(leak.measured for leak in leaks)),
        *_means(worst, leaks),
        *_sensitive(worst.result.columns),
        *_safest(worst, leaks),
        *(by_chance(levels) if not any(leak.reads_rows for leak in leaks) else ()),  # nobody reads a row by chance
        *_grouped(summary),
        *told,
        *(only_small_updates(summary) if isinstance(summary, RowsSummary) else ()),
        *(worthless(summary) if isinstance(summary, RowsSummary) else ()),
        *(summary.warnings if isinstance(summary, UpdatesSummary) else ()),
        *gaps(summary),
    ]
    return Verdict(
        level=level,
        meaning=MEANINGS[level],
        headline=headline_of(worst),
        tiles=_tiles(worst),
        sentences=tuple(sentences),
    )


def headline_of(leak: Leak) -> str:
    """What was read in one measured setting, and what guessing gets."""
    guess = leak.best_guess
    compared = ""
    if leak.guess and guess:
        compared = f" Guessing from {guessed_from(leak.study, leak.guess)} gets {percent(guess.mean)}."
    who = reader_of(leak.result)
    return f"With {words.batches(leak.result.batch_size)}, {who} read {amount_read(leak)}.{compared}"


def _tiles(worst: Leak) -> tuple[Tile, ...]:
    result, guess = worst.result, worst.best_guess.mean if worst.best_guess else None
    read = worst.accuracy.mean if worst.accuracy else None
    near, guessed = count(result.rows_near), count(result.rows_guessed_near)
    rows = f"of {count(result.rows)}; at least nearly: {near} (guessing: {guessed})"
    return (
        Tile(title="rows read back exactly", value=count(result.rows_exact), note=rows),
        Tile(title="cells read by the attack", value=percent(read), share=read),
        Tile(title="cells right by guessing", value=percent(guess), share=guess or 0.0, guess=True),
    )


def _proven(leak: Leak) -> list[str]:
    """How many rows were read, and how many of them with a proof; only where an attack proves rows."""
    result = leak.result
    if result.rows_certified is None:
        return []
    if result.rows_exact == result.rows:
        read = "The one attacked row was read exactly" if result.rows == 1 else (
            f"All {count(result.rows)} rows in the attacked batches were read exactly"
        )  # fmt: skip
    else:
        read = f"Of the {count(result.rows)} rows in the attacked batches, {count(result.rows_exact)} were read exactly"
    if not result.rows_certified:
        which = "Which rows are right" if not result.rows_exact else f"{read}; which these are"
        return [f"{which}, the attacker cannot tell: none is certified."]
    if result.rows_certified > result.rows_exact:  # a proof bears rounding
        return [
            f"{read}; {count(result.rows_certified)} have a proof from the update itself (certified): the attacker "
            "knows that each category is right, and each number within 0.02 deviations."
        ]
    proven = "all of them" if result.rows_certified == result.rows_exact else count(result.rows_certified)
    return [f"{read}; {proven} with a proof from the update itself (certified), so the attacker knows they are right."]


def _grouped(summary: ReadRows) -> list[str]:
    """Whose rows they are: only a group column says that."""
    group = summary.dataset.group
    return [f"Whose row is whose is said by the column {group}: several rows can be one person's."] if group else []


_DESCRIBED = {
    "dataset": "table {}",
    "sender": "client {}",
    "rounds": "round {}",
    "model": "model {}",
    "protocol": "protocol {}",
    "people": "{} aligned rows",
    "batches": "{} batches",
    "attack": "attack {}",
    "attack_point": "attack point {}",
    "defense": "defence {}",
    "variant": "{}",
}


def _setting(worst: Leak, measured: int) -> str:
    where = (
        "This is the only setting measured" if measured == 1 else f"This is the worst of {measured} measured settings"
    )
    return f"{where}: {_described(worst.place)}."


def _means(worst: Leak, leaks: Sequence[Leak]) -> list[str]:
    """What the attacker was allowed: a number stands for no more than that."""
    if worst.study not in ("rows", "updates"):
        return []
    most, used = max(int(leak.place.get("watched", 1)) for leak in leaks), int(worst.place.get("watched", 1))
    said = "one update of a client by itself" if used == 1 else f"{used} rounds of a client joined"
    beyond = "a server that cheats (seepage audit servers)"
    if most == 1:
        how = " (--rounds 1,2,5)" if worst.study == "rows" else " (--join 1,3)"
        beyond = f"several rounds joined{how}, or {beyond},"
    who = f"The attacker is a server that follows the protocol; this was read from {said}."
    return [f"{who} {_capital(beyond)} can read more."]


def _capital(said: str) -> str:
    return said[0].upper() + said[1:]


def _described(place: dict[str, Coordinate]) -> str:
    """All coordinates but the batch size, which the headline says."""
    parts = [
        "no defence" if (name, place[name]) == ("defense", "none") else form.format(place[name])
        for name, form in _DESCRIBED.items()
        if name in place and place[name] != ""
    ]
    return ", ".join(parts)


def _sensitive(columns: Sequence[ColumnNumbers]) -> list[str]:
    marked = [
        (column.gain, column.name, column.attack, column.best_guess)
        for column in columns
        if column.sensitive and column.attack and column.best_guess and column.gain is not None
    ]
    if not marked:
        return []
    _, name, attack, guess = max(marked, key=lambda entry: entry[0])
    which = (
        f"The column marked sensitive, {name},"
        if len(marked) == 1
        else f"Of the {len(marked)} columns marked sensitive, {name} gained most over guessing: it"
    )
    return [f"{which} was read in {percent(attack.mean)} of the rows there; the best guess gets {percent(guess.mean)}."]


def _safest(worst: Leak, leaks: Sequence[Leak]) -> list[str]:
    safest = safest_of(leaks)
    if safest is None or safest.worst is None or safest.worst.number == worst.number:
        return []
    read = amount_read(safest.worst)
    more = f" {MORE_MAY}." if safest.spent else ""
    return [
        f"The least leaking choice tested was {safest.label}: there the attack that got furthest read {read}.{more}"
    ]


SECTION: Section[ReadRows] = Section(
    name="verdict",
    title="Verdict",
    short="Verdict",
    studies=(RowsSummary, VerticalSummary, UpdatesSummary),
    place=10,
    view=with_truth(verdict),
)
