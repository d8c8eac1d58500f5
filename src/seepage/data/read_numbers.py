"""Columns of numbers: that any reader takes for numbers, in a style of their own, or with some other cells."""

from __future__ import annotations

import re

import polars as pl

from seepage.data.dates import dates_in
from seepage.data.numbers import STYLES, Style, has_groups, has_leading_zero, has_long_ungrouped, numbers_in, unmarked
from seepage.data.read_column import Evidence, Reading, as_categories, asked, read_moments

_STANDS_FOR_NOTHING = frozenset(
    ("-", "--", "---", ".", "..", "*", "x", "none", "unknown", "missing", "unbekannt", "keine", "k.a.", "k. a.", "n.a.",
     "na", "nd", "n.d.", "tbd", "inconnu", "not available", "not known", "not measured")
)  # fmt: skip
_POSTCODE = re.compile(
    r"(^|[_\s.-])(zip|zip_?code|plz|postleitzahl|post_?code|postal_?code|code_postal)([_\s.-]|$)", re.I
)
_MAYBE_GROUPED = re.compile(r"[+-]?(?:[1-9]\d{0,2}\.\d{3}|\d+)")
_MOSTLY, FEW, _SAMPLE = 0.8, 20, 256


def is_postcode(series: pl.Series) -> bool:
    """Whether a column is named like a postcode and holds whole numbers of four to six digits."""
    if not _POSTCODE.search(series.name) or not series.dtype.is_integer():
        return False
    return bool(series.drop_nulls().is_between(1000, 999_999).all())


def read_postcodes(series: pl.Series) -> Reading:
    """Numbers that name a place are categories: one more is no place further."""
    values = as_categories(series.cast(pl.String))
    return Reading(values=values, read_as="category", why="named like a postcode", word="category")


def read_plain_numbers(text: pl.Series, numbers: pl.Series, evidence: Evidence) -> Reading:
    """Text that any reader takes for numbers: look whether it is something else that only looks so."""
    if has_leading_zero(text):
        return Reading(values=as_categories(text), read_as="category", why="leading zeros", word="category")
    if numbers.dtype == pl.Int64:
        if is_postcode(numbers):
            return read_postcodes(numbers)
        if bool(numbers.drop_nulls().is_between(1592_01_01, 2199_12_31).all()) and numbers.drop_nulls().n_unique() > 2:
            moments = dates_in(text)
            if moments is not None:
                return read_moments(moments, "eight digits that are dates")
        return Reading(values=numbers, read_as="number", why="all numbers")
    head = text.drop_nulls().head(_SAMPLE).to_list()  # most decimals show themselves at once
    if all(_MAYBE_GROUPED.fullmatch(cell) for cell in head) and _differ(text):
        return _styled(text, text, set(STYLES), evidence)
    return Reading(values=numbers, read_as="number", why="all numbers", style="decimal_point")


def read_numbers(text: pl.Series, evidence: Evidence) -> Reading | None:
    """Text that is numbers in a style of its own, or nearly."""
    bare = unmarked(text)
    sample = bare.drop_nulls()
    sample = sample.gather_every(max(1, len(sample) // _SAMPLE))
    if min(numbers_in(sample, style).null_count() for style in STYLES) > len(sample) / 2:
        return None
    if has_leading_zero(bare) and bare.equals(text):
        return None
    numbers = {style: numbers_in(bare, style) for style in STYLES}
    fitting = {style for style in STYLES if numbers[style].null_count() == text.null_count()}
    if fitting:
        return _styled(text, bare, fitting, evidence)
    style = min(STYLES, key=lambda each: numbers[each].null_count())
    return _mixed(text, numbers[style], style)


def _differ(text: pl.Series) -> bool:
    """Whether every number may as well be written in the other style, as another number: 1.234 is a thousand or one."""
    first, second = (numbers_in(text, style) for style in STYLES)
    both = first.null_count() == second.null_count() == text.null_count()
    return both and not first.cast(pl.Float64).equals(second.cast(pl.Float64))


def _styled(text: pl.Series, bare: pl.Series, fitting: set[Style], evidence: Evidence) -> Reading:
    """Numbers of one style; if both fit and differ, the file's other columns decide, and then its separator."""
    both = len(fitting) > 1 and _differ(bare)
    doubt = both and not has_long_ungrouped(bare)
    comma = bool(bare.str.contains(",", literal=True).any())
    notes: tuple[str, ...] = _about_signs(text)
    because = ""
    if not doubt:
        # A long number without groups stands beside: then a sign is a decimal one.
        pointed = not comma if both else "decimal_point" in fitting
        style: Style = "decimal_point" if pointed else "decimal_comma"
    elif evidence.style:
        style, because = evidence.style, ", as in other columns"
    else:
        style = "decimal_comma" if comma and evidence.separator == ";" else "decimal_point"
        notes += (_doubt_about_decimals(text.name, style, comma),)
    grouped = has_groups(bare, style)
    words = ["grouped thousands"] if grouped else []
    if style == "decimal_comma" and comma:
        words = ["decimal commas", *words]
    signs = _signs(text)
    words += [signs] if signs else []
    why = f"{', '.join(words) or 'all numbers'}{because}"
    plain = style == "decimal_point" and not grouped and not signs
    return Reading(
        values=numbers_in(bare, style), read_as="number", why=why, word="" if plain else style, notes=notes,
        style=style if _has_decimals(bare) else None, doubt=doubt,
    )  # fmt: skip


def _has_decimals(text: pl.Series) -> bool:
    return bool(text.drop_nulls().str.contains(r"\d[.,]\d").any())


def _doubt_about_decimals(name: str, style: Style, comma: bool) -> str:
    sign, other = ("comma" if comma else "point"), STYLES[style == "decimal_point"]
    decimal = (style == "decimal_comma") == comma
    taken, else_ = ("decimal sign", "groups thousands") if decimal else ("sign of thousands", "is a decimal sign")
    return (
        f"Every {sign} in {name!r} stands before three digits, so it may be a decimal sign or group thousands; it is "
        f"taken for a {taken}. If it {else_}: {asked(name, other)}."
    )


def _signs(text: pl.Series) -> str:
    present = text.drop_nulls().head(_SAMPLE)
    if present.str.contains("%", literal=True).any():
        return "percent signs"
    bare = unmarked(present)
    return "currency signs" if present.str.contains(r"[€$£¥₹₽₺A-Za-z]").any() and not bare.equals(present) else ""


def _about_signs(text: pl.Series) -> tuple[str, ...]:
    percent = int(text.str.contains("%", literal=True).sum())
    filled = len(text) - text.null_count()
    if 0 < percent < filled:
        return (
            f"Only {percent} of {filled} cells of {text.name!r} have a percent sign; all are read as they are written, "
            f"without it. If that is wrong, correct the file, or leave it out: {asked(text.name, 'leave_out')}.",
        )
    currencies = text.drop_nulls().str.extract(r"(€|\$|£|¥|₹|₽|₺|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK)").drop_nulls()
    if currencies.n_unique() > 1:
        return (f"{text.name!r} has {currencies.n_unique()} currencies; the amounts are read without them.",)
    return ()


def _mixed(text: pl.Series, numbers: pl.Series, style: Style) -> Reading | None:
    """Numbers and some other cells: numbers if nearly all are, or if the others only say that there is nothing."""
    filled, read = len(text) - text.null_count(), len(numbers) - numbers.null_count()
    others = text.filter(numbers.is_null() & text.is_not_null())
    nothing = others.str.to_lowercase().is_in(list(_STANDS_FOR_NOTHING)).all()
    name, distinct, unread = text.name, numbers.drop_nulls().n_unique(), len(others)
    if not ((nothing and distinct > 2) or (read > _MOSTLY * filled and distinct > FEW)):
        return None
    cells = f"{unread} of its {filled} filled cells"
    what = "say that nothing is known" if nothing else "are none"
    note = f"{name!r} is read as numbers; {cells} {what} and count as empty."
    if not nothing:
        note += f" If they matter: {asked(name, 'category')}."
    why = "numbers, words for nothing" if nothing else f"{100 * read / filled:.1f} % are numbers"
    return Reading(
        values=numbers,
        read_as="number",
        why=why,
        word="number",
        unread=unread,
        notes=(note,),
        style=style if _has_decimals(text) else None,
    )
