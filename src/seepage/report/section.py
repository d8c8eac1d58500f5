"""A section of the report: what it declares, and how those that belong to a summary are found.

A section is two files in ``report/sections/``: ``<name>.py``, which declares ``SECTION``, and ``<name>.html``, the
template that shows what the section's ``view`` returns. Nothing else knows it by name::

    @dataclass(frozen=True)
    class Weather:
        sentence: str

    def weather(summary: RowsSummary) -> Weather | None:
        return Weather(summary.name) if summary.cells else None

    SECTION = Section(
        name="weather", title="How is the weather?", short="Weather", studies=(RowsSummary,), place=15, view=weather
    )

and in the template ``<p>{{ view.sentence }}</p>``; ``macros.html`` has tables, figures and numbers with intervals.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from seepage.report import sections
from seepage.results.summary import Summary

S = TypeVar("S", bound=Summary)


@dataclass(frozen=True, kw_only=True)
class Section(Generic[S]):
    """One section of the page.

    Args:
        name: that of its two files, and its address within the page.
        title: the heading; best the question that it answers.
        short: its name in the contents.
        studies: the summaries it is for, by their classes; ``(Summary,)`` for all of them.
        place: sections come in the order of these numbers.
        view: what the template shows, a frozen dataclass; None where there is nothing to say.
        warning: shown on top of a page that has this section.
    """

    name: str
    title: str
    short: str
    studies: tuple[type[S], ...]
    place: int
    view: Callable[[S], object | None]
    warning: str = ""

    def of(self, summary: Summary) -> object | None:
        """What it shows of a summary; None if it is not for its study, or has nothing to say."""
        return self.view(summary) if isinstance(summary, self.studies) else None


def all_sections() -> list[Section[Summary]]:
    """Every section there is, in the order of the page."""
    every: list[Section[Summary]] = []
    for module in pkgutil.iter_modules(sections.__path__):
        section = getattr(importlib.import_module(f"{sections.__name__}.{module.name}"), "SECTION", None)
        if not isinstance(section, Section) or section.name != module.name:
            raise TypeError(f"{module.name}.py must declare SECTION, a Section of the same name.")
        every.append(section)
    return sorted(every, key=lambda section: (section.place, section.name))
