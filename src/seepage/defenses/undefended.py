"""No defence: updates are sent as they are."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.defenses.defense import Defense
from seepage.results.facts import ThreatModel


@dataclass(frozen=True, kw_only=True)
class Undefended(Defense):
    """The update is sent as it is. What every defence is compared with.

    Guarantees:
        None.

    Example:
        >>> Undefended().balance() is None
        True
    """

    def amend(self, threat: ThreatModel) -> ThreatModel:
        """There is nothing to know."""
        return threat
