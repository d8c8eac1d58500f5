"""The report: gather what a summary says, then render it as one HTML file. No torch in this room."""

from seepage.report.render import render, write_report

__all__ = ["render", "write_report"]
