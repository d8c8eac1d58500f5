"""How to repeat a run, and where its numbers come from: command, versions, seeds, tables, variants, settings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.settings import settings_of, values_of
from seepage.report.words import plural
from seepage.results.facts import Dataset, LeftOut, VariantSettings
from seepage.results.summary import Summary

VARIANTS_LIMIT = 200
FILLED_LIMIT = 20
Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Everything that is needed to do it again."""

    command: str
    about: Lines
    dropped: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    variants: tuple[VariantSettings, ...]
    variants_left_out: int
    settings: Lines

    def changes(self, variant: VariantSettings) -> str:
        """What a variant does otherwise than the first; deep settings are not shown."""
        plain = {key: value for key, value in variant.settings.items() if not isinstance(value, dict)}
        return ", ".join(f"{key} {value}" for key, value in plain.items()) or "as the first"


def repeat(summary: Summary) -> Provenance:
    """Where the numbers come from."""
    return Provenance(
        command=summary.command,
        about=_about(summary),
        dropped=summary.dataset.dropped,
        notes=(*summary.mixed, *_about_filling(summary.dataset), *summary.dataset.notes),
        variants=summary.variants[:VARIANTS_LIMIT],
        variants_left_out=max(len(summary.variants) - VARIANTS_LIMIT, 0),
        settings=settings_of(summary),
    )


def _about(summary: Summary) -> Lines:
    dataset = summary.dataset
    kinds = Counter(column.kind for column in dataset.columns)
    seeds = ", ".join(str(seed) for seed in values_of(summary, "seed")) or str(summary.seed)
    lines = {
        "Run": summary.name,
        "Study": summary.study,
        "Begun": summary.created.replace("T", " ").replace("+00:00", " UTC"),
        "Seed": seeds,
        "Versions": ", ".join(f"{name} {version}" for name, version in summary.versions.items()),
        "Computed by": _computed_by(summary.machine),
        "Data set": f"{dataset.name}, {plural(dataset.rows, 'row')}",
        "Table fingerprint": dataset.digest,
        "Input columns": ", ".join(f"{amount} {kind}" for kind, amount in kinds.items()) or "none",
        "Rows belong together by": dataset.group,
        "Target": f"{dataset.target} ({dataset.task})",
    }
    return tuple((name, text) for name, text in lines.items() if text)


def _computed_by(machine: dict[str, str]) -> str:
    """What computed it, in a line."""
    words = {"processor": "{}", "kernels": "kernels {}", "threads": "threads {}", "compiler": "compiler {}"}
    said = [text.format(machine[name]) for name, text in words.items() if name in machine]
    if machine.get("compiled", "no") != "no":
        said.append("steps were compiled")
    return ", ".join(said)


def _about_filling(dataset: Dataset) -> tuple[str, ...]:
    """What became of empty cells, and what that does to the numbers."""
    filled = [column for column in dataset.columns if column.missing]
    if not filled:
        return ()
    shown = [
        f"{column.name} {column.missing:,} ({column.missing / max(dataset.rows, 1):.1%}, {column.filled})"
        for column in filled[:FILLED_LIMIT]
    ]
    more = f"; and {plural(len(filled) - FILLED_LIMIT, 'more column')}" if len(filled) > FILLED_LIMIT else ""
    return (
        f"Empty cells were filled before training: {'; '.join(shown)}{more}. Who reads such a cell reads the filling, "
        "which guessing finds more easily than a true value; it counts as read all the same.",
    )


SECTION = Section(name="repeat", title="How to repeat it", short="Repeat it", studies=(Summary,), place=96, view=repeat)
