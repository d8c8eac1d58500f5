"""Many networks of one architecture, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Stack:
    """Fully connected networks with the same layers.

    Args:
        weights: for each layer (models, out, in).
        biases: for each layer (models, out).
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.weights[0])

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns that go in, neurons of every layer, outputs."""
        return (self.weights[0].shape[2], *(each.shape[1] for each in self.weights))

    def take(self, models: Tensor | Sequence[int]) -> Stack:
        """These models, in this order."""
        index = torch.as_tensor(models)
        return Stack(tuple(w[index] for w in self.weights), tuple(b[index] for b in self.biases))

    def rounds(self, count: int) -> list[Stack]:
        """The stacks that :meth:`chained` was given."""
        size = len(self.weights) // count
        places = [slice(k * size, (k + 1) * size) for k in range(count)]
        return [Stack(self.weights[place], self.biases[place]) for place in places]

    @staticmethod
    def chained(stacks: Sequence[Stack]) -> Stack:
        """What the same models sent in several rounds: the layers of one round after those of the other."""
        return Stack(
            tuple(weight for stack in stacks for weight in stack.weights),
            tuple(bias for stack in stacks for bias in stack.biases),
        )

    @staticmethod
    def cat(stacks: Sequence[Stack]) -> Stack:
        """All models of several stacks."""
        layers = range(len(stacks[0].weights))
        return Stack(
            tuple(torch.cat([stack.weights[layer] for stack in stacks]) for layer in layers),
            tuple(torch.cat([stack.biases[layer] for stack in stacks]) for layer in layers),
        )
