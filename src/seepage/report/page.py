"""From a summary to one HTML file that asks nothing of any network: one skeleton, and the sections that have a say."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from markupsafe import Markup

from seepage.report import sections
from seepage.report.heading import Heading, heading_of
from seepage.report.section import Section, all_sections
from seepage.report.templates import read, templates
from seepage.results import Run, Summary, read_summary


@dataclass(frozen=True)
class Shown:
    """A section with its text."""

    section: Section[Summary]
    body: Markup


def render(summary: Summary) -> str:
    """The report of a summary, as one self-contained HTML document."""
    environment = templates(tuple(sections.__path__))
    shown = []
    for section in all_sections():
        view = section.of(summary)
        if view is not None:
            template = environment.get_template(f"section/{section.name}.html")
            shown.append(Shown(section, Markup(template.render(view=view, section=section))))
    return assembled(heading_of(summary), shown)


class Titled(Protocol):
    """What the skeleton shows of a section."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def short(self) -> str: ...
    @property
    def warning(self) -> str: ...


class Body(Protocol):
    """A section with its text."""

    @property
    def section(self) -> Titled: ...
    @property
    def body(self) -> Markup: ...


def assembled(heading: Heading, shown: Sequence[Body]) -> str:
    """The skeleton around sections, with the scripts that their plots need."""
    drawn = any('class="plot"' in each.body for each in shown)
    scripts = [read("vendor/plotly-basic.min.js"), read("report.js")] if drawn else []
    return (
        templates(tuple(sections.__path__))
        .get_template("page.html")
        .render(
            heading=heading,
            shown=shown,
            style=Markup(read("report.css")),
            scripts=[Markup(script) for script in scripts],
            policy=_policy(scripts),
        )
    )


def write_report(run: Run) -> Path:
    """Write ``report.html`` of a run, whole or not at all; of one that is not finished, of what is there."""
    return run.write("report.html", render(read_summary(run)))


@cache
def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _policy(scripts: list[str]) -> str:
    """A content security policy: only our own scripts run, and nothing is fetched from anywhere."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
