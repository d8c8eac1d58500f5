"""What algebra knows, given to the optimiser."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage.attacks.exact.presence import State, presence_of
from seepage.attacks.exact.view import View
from seepage.attacks.inversion.categories import Categories
from seepage.attacks.inversion.starts import Start
from seepage.observation import Observation

NEVER = -1e4  # a logit whose softmax is zero, exactly, and whose slope is too: it never moves


@dataclass(frozen=True, kw_only=True)
class Masked:
    """Another start, with categories that nobody has left out for good.

    Args:
        start: draws everything else; it must set logits.
    """

    start: Start

    def check(self, categories: Categories) -> None:
        self.start.check(categories)

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor:
        x = self.start(shape, observation, generator)
        for block, states in zip(observation.layout.blocks, presence_of(observation).states, strict=True):
            absent = torch.from_numpy(states == State.ABSENT)
            if not bool(absent.all()):
                x[..., block].masked_fill_(absent, NEVER)
        return x


def smaller(observation: Observation, view: View, labels: Tensor | None) -> Observation:
    """The update of the rows that are left, as if they had been the whole batch."""
    factor = view.total / view.rows
    update = {name: (value * factor).float() for name, value in view.gradient.items()}
    exchange = replace(observation.exchange, protocol="fedsgd", rows=view.rows, batch_size=view.rows, local_epochs=1)
    return replace(observation, update=update, exchange=exchange, labels=labels)
