"""The audit: the only room that holds both what was shared and what was true."""

import sys

from seepage.audit.api import audit, open_sources, run
from seepage.audit.catalogue import ATTACKS, DEFENSES, MODELS, listed, make_attack, make_defense, make_model
from seepage.audit.document import command_line
from seepage.audit.plan import Plan, make_plan, prepare, read_plan, with_typed
from seepage.audit.settings import Settings, make_settings
from seepage.audit.source import Request, Source, open_source

__all__ = [
    "ATTACKS",
    "DEFENSES",
    "MODELS",
    "Plan",
    "Request",
    "Settings",
    "Source",
    "audit",
    "command_line",
    "listed",
    "make_attack",
    "make_defense",
    "make_model",
    "make_plan",
    "make_settings",
    "open_source",
    "open_sources",
    "prepare",
    "read_plan",
    "run",
    "with_typed",
]

# `seepage.audit(frame, target=...)` is the one call users make, and this package bears the same name.
# Taken from the loaded package, not imported: the rooms below the door do not depend on the door.
sys.modules[__name__].__class__ = sys.modules["seepage"].CallableAudit
