"""From finding to setting: what to change in the framework that runs the federation, and what was not measured."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.flower_remedies import flower_remedies
from seepage.report.measured_settings import measured_settings
from seepage.report.nvflare_remedies import nvflare_remedies
from seepage.report.remedies import UNAWARE, Remedy, Sent
from seepage.report.section import Section
from seepage.results.updates import UpdatesSummary

TRIED = {"flower": ("Flower", "1.41.0"), "nvflare": ("NVFlare", "2.9.0")}


@dataclass(frozen=True)
class Settings:
    """What to change.

    Args:
        framework: in words.
        version: of the federation; empty if nobody said.
        tried: the version for which the lines were written.
        elsewhere: where some of them were measured, in sentences.
    """

    framework: str
    version: str
    tried: str
    remedies: tuple[Remedy, ...]
    elsewhere: str


def settings_to_change(summary: UpdatesSummary) -> Settings | None:
    """Settings of the framework; None where it is not known, or nothing was captured."""
    known = summary.framework
    if known is None or known.name not in TRIED or not summary.updates:
        return None
    sent = Sent.of(summary)
    remedies = flower_remedies(sent) if known.name == "flower" else nvflare_remedies(sent)
    word, tried = TRIED[known.name]
    return Settings(word, known.version, tried, remedies, _elsewhere())


def _elsewhere() -> str:
    stored = measured_settings()
    return f"Some were measured on {stored.where}. There, without any of them, {stored.of('as it is').read}. {UNAWARE}"


SECTION: Section[UpdatesSummary] = Section(
    name="settings_to_change",
    title="Which setting to change",
    short="Settings to change",
    studies=(UpdatesSummary,),
    place=16,
    view=settings_to_change,
)
