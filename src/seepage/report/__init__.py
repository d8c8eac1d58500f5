"""The report: from a summary to one page that needs nothing else. It reads ``results`` only, and never loads torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage._core.lazily import lazily

if TYPE_CHECKING:
    from seepage.report.notebook import notebook_view as notebook_view
    from seepage.report.page import render as render
    from seepage.report.page import write_report as write_report

__all__ = ["notebook_view", "render", "write_report"]

__getattr__ = lazily(
    __name__, {"notebook_view": "notebook", "render": "page", "write_report": "page"}
)  # words of the report are also used where help is shown
