"""From a page to one HTML file that asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from seepage.report import words
from seepage.report.gather import gather
from seepage.report.plots import Plot, plots_of
from seepage.report.property import gather_property, plots_of_property
from seepage.report.verdict import Level
from seepage.report.vertical import METRICS, VARIANTS, gather_vertical, plots_of_vertical
from seepage.results import Run, Summary
from seepage.results.property import read_property
from seepage.results.vertical import read_vertical

_HERE = Path(__file__).parent


def render(summary: Summary) -> str:
    """The report of a summary, as one self-contained HTML document."""
    page = gather(summary)
    return _document("report.html", page, plots_of(page), levels=list(Level))


def render_vertical(summary: dict[str, Any]) -> str:
    """The report of vertical training."""
    page = gather_vertical(summary)
    return _document("vertical.html", page, plots_of_vertical(page), variants=VARIANTS, metrics=METRICS)


def render_property(summary: dict[str, Any]) -> str:
    """The report of property inference."""
    page = gather_property(summary)
    return _document("property.html", page, plots_of_property(page))


def _document(template: str, page: Any, plots: Mapping[str, Plot | None], **more: Any) -> str:
    drawing = (_HERE / "report.js").read_text(encoding="utf-8").strip()
    scripts = [get_plotlyjs(), drawing] if any(plots.values()) else [drawing]
    return _environment().get_template(template).render(
        page=page,
        plots=plots,
        style=Markup((_HERE / "report.css").read_text(encoding="utf-8")),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
        **more,
    )  # fmt: skip


def write_report(run: Run) -> Path:
    """Write ``report.html`` of a finished run, whole or not at all."""
    vertical, asked = read_vertical(run.path), read_property(run.path)
    if vertical is not None:
        return run.write("report.html", render_vertical(vertical))
    if asked is not None:
        return run.write("report.html", render_property(asked))
    return run.write("report.html", render(run.summary()))


def _policy(scripts: list[str]) -> str:
    """A content security policy: only our own scripts run, and nothing is fetched from anywhere."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": words.percent,
        "ends": words.ends,
        "point_ends": words.point_ends,
        "points": words.points,
        "score": words.score,
        "count": words.count,
        "metric": words.metric,
        "said_batches": words.batches,
    }
    return environment
