"""The cost of an audit of vertical gradients, counted from its settings."""

from __future__ import annotations

import math

from seepage.data.source import Source
from seepage.plans import registry
from seepage.studies.load import FLOPS, Load, shape_of
from seepage.studies.vertical.settings import EXTRA, VerticalSettings
from seepage.studies.vertical.workers import VerticalChoice

WIDE = 8  # bytes of a float64: the algebra is done in it
KEPT = 2**30  # bytes of gradients that attacks keep


def load_of(source: Source, settings: VerticalSettings, choice: VerticalChoice) -> Load:
    """What one choice costs: in every trial batches are shown, and each attack solves for everyone's rows."""
    shape = shape_of(source, settings, choice.model, "vertical")
    people = min(settings.people, len(source.table))  # more cannot be drawn, which the check tells
    batches = settings.batches or round(EXTRA * people)
    attacks = [registry.make("attack", name, "vertical", settings.attack_options) for name in settings.attacks]
    shown = batches * (2e-3 + shape.step(choice.batch_size))
    looks = 1 + len(settings.watch)
    solving = [
        looks * (1 + (people**3 + people**2 * shape.inputs) / FLOPS) + _descent(attack, people, shape.inputs)
        for attack in attacks
    ]
    squares = WIDE * 4 * people**2
    rows = WIDE * 6 * people * shape.inputs
    gradients = len(attacks) * min(KEPT, WIDE * batches * shape.parameters)
    return Load(
        seconds=settings.trials * (shown + sum(solving)),
        memory=squares + rows + gradients + 12 * shape.parameters + 4 * len(source.table) * shape.inputs,
        piece=shown + max(solving),
    )


def _descent(attack: object, people: int, inputs: int) -> float:
    """Seconds of an attack that goes down step by step."""
    steps = getattr(attack, "steps", 0) * max(1, getattr(attack, "seeds", 1))
    return float(steps) * (2e-3 + 20.0 * people * inputs / FLOPS) if steps < math.inf else math.inf
