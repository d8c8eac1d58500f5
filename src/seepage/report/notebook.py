"""A summary in a notebook: the verdict, the plots and the table, in HTML that needs no script and no network."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from seepage.report.drawing import drawn
from seepage.report.figure import Figure
from seepage.report.section import all_sections
from seepage.report.templates import templates
from seepage.report.verdict import Verdict
from seepage.results.showing import table_html
from seepage.results.summary import Summary

PLOTS = 3  # the first ones; the report has all


def notebook_view(summary: Summary) -> str:
    """What a notebook shows of a summary."""
    views = [view for section in all_sections() if (view := section.of(summary)) is not None]
    figures = [figure for view in views for figure in _figures(view)][:PLOTS]
    return (
        templates()
        .get_template("notebook.html")
        .render(
            verdict=next((view for view in views if isinstance(view, Verdict)), None),
            plots=[Markup(drawn(figure)) for figure in figures],
            table=Markup(table_html(summary)),
            lines=len(summary.cells),
            path=summary.path,
        )
    )


def _figures(view: object) -> Iterator[Figure]:
    """The figures of a section: one, several, or one for each of its parts."""
    every = [getattr(view, "figure", None), *getattr(view, "figures", ())]
    every += [getattr(part, "figure", None) for part in getattr(view, "every", ())]
    yield from (figure for figure in every if isinstance(figure, Figure))
