"""Whether a part was asked for as it ships, or with less: an attack that was cut short shows little by failing."""

from __future__ import annotations

from collections.abc import Mapping

from seepage.plans import registry
from seepage.plans.spec import options_of, written

# Options of which more makes an attack stronger. Any other change may cripple it, and nobody can tell from outside.
BUDGETS = frozenset({"steps", "restarts", "start_steps", "starts", "turns", "nodes", "leaves", "tries"})
# Options that change how it is computed, and nothing that it finds.
NEUTRAL = frozenset({"compile", "memory", "device"})


def weaker(kind: str, text: str, study: str, options: Mapping[str, str] | None = None) -> str:
    """How a spec differs from the part as it ships, in words; empty if it does not, or only has a larger budget."""
    shipped = options_of(registry.make(kind, registry.name_of(kind, text), study))
    asked = options_of(registry.make(kind, text, study, options))
    told = []
    for name, usual in shipped.items():
        value = asked.get(name, usual)
        if value == usual or name in NEUTRAL or (name in BUDGETS and value > usual):
            continue
        told.append(f"{name}={written(value)}, by default {written(usual)}")
    return "; ".join(told)
