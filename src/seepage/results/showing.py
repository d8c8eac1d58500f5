"""How notebooks show a summary: by a view that a room above this one makes known, or as a table."""

from __future__ import annotations

import html
from collections.abc import Callable

from seepage.results.summary import Summary

_VIEWS: list[Callable[[Summary], str]] = []


def show_with(view: Callable[[Summary], str]) -> None:
    """Let notebooks show summaries by this view. The report is above this room, so it cannot be named here."""
    _VIEWS.append(view)


def shown(summary: Summary) -> str:
    """A summary as HTML."""
    return _VIEWS[-1](summary) if _VIEWS else table_html(summary)


def table_html(summary: Summary) -> str:
    """The table that people see first, as HTML."""
    headings, lines = summary.lines()
    head = "".join(f"<th>{html.escape(text)}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line) + "</tr>" for line in lines)
    return (
        f"<table><caption>Seepage: {html.escape(summary.study)} of {html.escape(summary.dataset.name)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
