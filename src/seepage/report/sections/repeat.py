"""How to repeat a run, and where its numbers come from: command, versions, seeds, tables, variants, settings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.settings import settings_of, values_of
from seepage.report.words import plural
from seepage.results.facts import LeftOut, VariantSettings
from seepage.results.summary import Summary

VARIANTS_LIMIT = 200
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
        notes=summary.dataset.notes,
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
        "Data set": f"{dataset.name}, {plural(dataset.rows, 'row')}",
        "Digest of the rows": dataset.digest,
        "Input columns": ", ".join(f"{amount} {kind}" for kind, amount in kinds.items()) or "none",
        "Target": f"{dataset.target} ({dataset.task})",
    }
    return tuple((name, text) for name, text in lines.items() if text)


SECTION = Section(name="repeat", title="How to repeat it", short="Repeat it", studies=(Summary,), place=96, view=repeat)
