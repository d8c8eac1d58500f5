"""The report: from a summary to one page that needs nothing else. It reads ``results`` only, and never loads torch."""

from seepage.report.page import render, write_report

__all__ = ["render", "write_report"]
