"""The answer of a search as one page: what to set, the frontier as a picture and as a table, and lines to copy."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from seepage.report.frontier_picture import Dot, Limit, picture
from seepage.report.heading import Heading
from seepage.report.page import assembled
from seepage.report.templates import templates


@dataclass(frozen=True)
class Remark:
    """A sentence about settings.

    Args:
        text: it, with the first of their names.
        rest: the other names, for whoever asks.
    """

    text: str
    rest: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AdvicePage:
    """What the page shows.

    Args:
        table: the name of the data.
        facts: when, on exactly which rows and by which version: what a filed page is found by.
        headline: the recommended setting in one sentence, or that there is none.
        confirmed: whether every attack was run on it.
        answer: paragraphs.
        limits: what was not reached or not tested.
        headings, rows: the frontier as a table; its first column is the number of a dot.
        legend: what its columns mean.
        dots: the frontier as a picture.
        allowed: the limits in the picture.
        score: what the utility is.
        frameworks, plan: lines to copy.
        command: what repeats the search; empty if it was asked for in Python.
    """

    table: str
    facts: str
    headline: str
    confirmed: bool
    answer: tuple[str, ...]
    limits: tuple[Remark, ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: str
    dots: tuple[Dot, ...]
    allowed: tuple[Limit, ...]
    score: str
    frameworks: dict[str, str]
    plan: str
    command: str = ""


@dataclass(frozen=True)
class _Part:
    name: str
    title: str
    short: str
    warning: str = ""


@dataclass(frozen=True)
class _Shown:
    section: _Part
    body: Markup


_PARTS = (
    _Part("answer", "What to set", "What to set"),
    _Part("frontier", "Leakage against utility", "Leakage against utility"),
    _Part("untested", "What fell short, and what was not tested", "What fell short"),
    _Part("copy", "Lines to copy", "Lines to copy"),
)


def render_advice(page: AdvicePage) -> str:
    """The page, as one self-contained HTML document."""
    template = templates().get_template("advice.html")
    drawn = picture(page.dots, page.allowed, page.score)
    shown = [
        _Shown(part, Markup(template.render(part=part.name, page=page, picture=drawn)))
        for part in _PARTS
        if part.name != "frontier" or page.dots
    ]
    lead = (
        "Settings that were trained and attacked on this table, and how they stand to the limits that were asked for."
    )
    return assembled(Heading(f"Which setting for {page.table}?", lead, page.facts), shown)
