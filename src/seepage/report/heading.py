"""What stands above the first section: what the page is about, in one line."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.verdict import trials
from seepage.report.words import moment, plural
from seepage.results.summary import Summary

_TITLES = {
    "rows": "Leakage audit of {}",
    "vertical": "Leakage audit of {}, vertical learning",
    "property": "Property inference on {}",
    "training": "Vertical training of {}",
    "parties": "What parties read of each other: {}",
    "servers": "A server that cheats: {}",
    "updates": "Leakage audit of the captured updates {}",
    "cohorts": "What sums over cohorts give away: {}",
}


@dataclass(frozen=True)
class Heading:
    """The page's title and the line below it."""

    title: str
    lead: str
    facts: str
    unfinished: str = ""


def heading_of(summary: Summary) -> Heading:
    """The heading of a summary's page."""
    dataset, cells = summary.dataset, summary.cells
    amount = trials(summary.study, sum(cell.trials for cell in cells))
    lead = (
        f"{plural(dataset.rows, 'row')}, {plural(len(dataset.columns), 'input column')}; "
        f"the model predicts {dataset.target} ({dataset.task}). {amount} in {plural(len(cells), 'setting')}."
    )
    title = _TITLES.get(summary.study, f"{summary.study.capitalize()} of {{}}").format(dataset.name)
    return Heading(title, lead, _facts(summary), _unfinished(summary))


def _facts(summary: Summary) -> str:
    """When it was run, on exactly which rows, and by which version: what a filed page is found by."""
    parts = {
        "Run begun {}": moment(summary.created),
        "table fingerprint {}": summary.dataset.digest,
        "Seepage {}": summary.versions.get("seepage", ""),
    }
    said = [form.format(value) for form, value in parts.items() if value]
    return f"{'; '.join(said)}." if said else ""


def _unfinished(summary: Summary) -> str:
    if summary.unfinished is None:
        return ""
    return f"{summary.unfinished.sentence} What is missing is named below, under what was not tested."
