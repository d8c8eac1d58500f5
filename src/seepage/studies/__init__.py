"""Studies: the only rooms that hold both what was shared and what was true."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from seepage._core import unknown_name
from seepage.plans.options import Settings
from seepage.studies.cohorts.settings import CohortsSettings
from seepage.studies.parties.settings import PartiesSettings
from seepage.studies.property.settings import PropertySettings
from seepage.studies.rows.settings import RowsSettings
from seepage.studies.servers.settings import ServersSettings
from seepage.studies.training.settings import TrainingSettings
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.vertical.settings import VerticalSettings

if TYPE_CHECKING:
    from seepage.studies.study import Study

# Settings are loaded at once, so that help is there at once; what runs them brings torch and is loaded when needed.
SETTINGS: Mapping[str, type[Settings]] = {
    "rows": RowsSettings,
    "property": PropertySettings,
    "vertical": VerticalSettings,
    "training": TrainingSettings,
    "parties": PartiesSettings,
    "updates": UpdatesSettings,
    "cohorts": CohortsSettings,
    "servers": ServersSettings,
}


def command_of(study: str) -> str:
    """The command that runs a study."""
    return {"rows": "seepage audit", "training": "seepage train"}.get(study, f"seepage audit {study}")


def find_study(name: str) -> Study:
    """The study of this name."""
    if name not in SETTINGS:
        raise unknown_name("study", name, SETTINGS)
    study: Study = importlib.import_module(f"seepage.studies.{name}.study").STUDY
    return study


__all__ = ["SETTINGS", "command_of", "find_study"]
