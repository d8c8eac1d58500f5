"""An attack that breaks: a failed cell with a reason, and the traceback on the log."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

from seepage._core import NotApplicable, NotWritten, Outcome, SeepageError
from seepage._core.tracebacks import without_messages
from seepage.observation import Claim

_LOG = logging.getLogger("seepage")


def ended(error: Exception, attack: object) -> Claim:
    """The claim of an attack that raised: it says that it cannot, or it broke. Both are counted, never averaged.

    A record that could not be written is nobody's attack: that error goes on.
    """
    if isinstance(error, NotWritten):
        raise error
    if isinstance(error, NotApplicable):
        return Claim(outcome=Outcome.NOT_APPLICABLE, note=str(error))
    return Claim(outcome=Outcome.FAILED, note=failure(error, type(attack).__name__))


def failure(error: Exception, attack: str) -> str:
    """What is noted of an attack that broke.

    Only errors of ours are quoted: the message of another one may hold a cell of the table. Its traceback goes to the
    log without it; the log is the terminal unless a program says otherwise.
    """
    if isinstance(error, SeepageError):
        return str(error)
    _LOG.error("The attack %s stopped with an internal error.\n%s", attack, without_messages(error))
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"It stopped with {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}."
