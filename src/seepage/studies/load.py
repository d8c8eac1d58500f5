"""What a run would cost, counted from its settings alone: no model is built, no row is touched.

A count is rough (within a factor of about five). It tells at once that a run is small, or that trying a piece of it, to
know better, would itself take too long.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seepage.data import Encoder
from seepage.models import Architecture
from seepage.plans import registry
from seepage.studies.parts import ModelSettings, Tabled

FLOPS = 5e9  # of small matrices on one core, in a second
CALL = 4e-5  # seconds of one tensor operation, however small
PASS = 12  # operations on each tensor of a model in a step forward and back


@dataclass(frozen=True)
class Load:
    """What a choice would cost.

    Args:
        seconds: of one core.
        memory: bytes at the same time.
        piece: seconds of the longest single trial that would tell more (``Study.try_one``).
    """

    seconds: float
    memory: float
    piece: float


@dataclass(frozen=True)
class Shape:
    """How large a model is: the inputs it takes, its parameters, and the tensors they are in."""

    inputs: int
    parameters: int
    tensors: int

    def step(self, rows: float) -> float:
        """Seconds of a step of training on so many rows, over all models that are trained together."""
        return CALL * PASS * self.tensors + 6 * rows * self.parameters / FLOPS


def shape_of(source: Tabled, settings: ModelSettings, model: str, study: str) -> Shape:
    """The size of a model for a table; torch counts it without taking memory for it."""
    schema = source.table.schema
    architecture: Architecture = registry.make("model", model, study, settings.model_options)
    layout = Encoder(schema=schema, categories=architecture.encoding, numbers=settings.numbers).layout
    outputs = max(architecture.binary_outputs, len(schema.target.classes), 1)
    try:
        with torch.device("meta"):
            sizes = [each.numel() for each in architecture.build(layout.numeric, layout.sizes, outputs).parameters()]
    except Exception:  # noqa: BLE001  # options that cannot be are told by the check, in its own words
        return Shape(layout.width, 0, 0)
    return Shape(layout.width, sum(sizes), len(sizes))
