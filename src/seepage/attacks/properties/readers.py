"""Networks that read networks: what a meta-model sees of a model's weights (document 003, section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from seepage._core import InputError, unknown_name
from seepage.models.stack import Stack

Parts = tuple[Tensor, ...]  # what is read, the models first


class Reader(Protocol):
    """Settings of a network that reads models."""

    def parts(self, stack: Stack) -> Parts:
        """What the network reads of each model. Computed once; mini batches are cut from it."""

    def network(self, parts: Parts) -> nn.Module:
        """A network (models' parts) -> (models, width) with freshly drawn weights.

        Args:
            parts: of the training shadows; what is read is standardised by their means and deviations.
        """


@dataclass(frozen=True, kw_only=True)
class DeepSets:
    r"""Each layer is a set of neurons (Zaheer et al. 2017; Ganju et al. 2018).

    .. math:: N^1_i = \phi_1(w_i, b_i), \quad
        N^t_i = \phi_t\Big(\sum_j w_{ij} N^{t-1}_j,\ \sum_j \psi(w_{ij}),\ b_i\Big), \quad L_t = \sum_i N^t_i

    The layers' sums :math:`L_1, L_2, \ldots` are what the meta-model goes on with.

    Guarantees:
        The answer does not depend on the order of hidden neurons, up to rounding.

    Args:
        hidden: width inside each :math:`\phi`.
        representation: of a neuron and of a layer; 8 in document 003.
    """

    hidden: int = 64
    representation: int = 8

    def __post_init__(self) -> None:
        _check_widths((self.hidden, self.representation))

    def parts(self, stack: Stack) -> Parts:
        return (*stack.weights, *stack.biases)

    def network(self, parts: Parts) -> nn.Module:
        return _Sets(parts, self.hidden, self.representation)


class _Sets(nn.Module):
    def __init__(self, parts: Parts, hidden: int, representation: int) -> None:
        super().__init__()
        layers = len(parts) // 2
        self.weights = nn.ModuleList(Standard(w, (0, 1) if t == 0 else (0, 1, 2)) for t, w in enumerate(parts[:layers]))
        self.biases = nn.ModuleList(Standard(b, (0, 1)) for b in parts[layers:])
        inputs = [parts[0].shape[2] + 1] + [2 * representation + 3] * (layers - 1)
        self.phi = nn.ModuleList(
            nn.Sequential(nn.Linear(i, hidden), nn.ReLU(), nn.Linear(hidden, representation), nn.ReLU()) for i in inputs
        )
        self.outputs = parts[layers - 1].shape[1]
        self.width = representation * (layers - 1 + self.outputs)

    def forward(self, parts: Parts) -> Tensor:
        layers = len(parts) // 2
        sums: list[Tensor] = []
        neurons = torch.empty(0)
        for t, (w, b) in enumerate(zip(parts[:layers], parts[layers:], strict=True)):
            weights, bias = self.weights[t](w), self.biases[t](b)[..., None]
            if t == 0:
                seen = weights
            else:
                n = w.shape[2]
                paths = torch.bmm(weights, neurons) / n**0.5
                every = neurons.mean(1, keepdim=True).expand(-1, w.shape[1], -1)
                seen = torch.cat(
                    [paths, every, weights.mean(2, keepdim=True), weights.square().mean(2, keepdim=True)], 2
                )
            neurons = self.phi[t](torch.cat([seen, bias], 2))
            sums.append(neurons.mean(1) if t < layers - 1 else neurons.flatten(1))
        return torch.cat(sums, 1)


@dataclass(frozen=True, kw_only=True)
class Flat:
    """All weights in a row, as they lie in memory: the same function has many such rows."""

    hidden: int = 64

    def __post_init__(self) -> None:
        _check_widths((self.hidden,))

    def parts(self, stack: Stack) -> Parts:
        return (_flattened(stack.weights, stack.biases),)

    def network(self, parts: Parts) -> nn.Module:
        return _Row(parts[0], self.hidden)


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """All weights in a row, hidden neurons sorted by the sum of their incoming weights (Ganju et al. 2018)."""

    hidden: int = 64

    def __post_init__(self) -> None:
        _check_widths((self.hidden,))

    def parts(self, stack: Stack) -> Parts:
        weights, biases = list(stack.weights), list(stack.biases)
        for t in range(len(weights) - 1):  # the outputs have an order of their own
            order = weights[t].sum(2).argsort(1)  # (models, out)
            weights[t] = weights[t].take_along_dim(order[:, :, None], 1)
            biases[t] = biases[t].take_along_dim(order, 1)
            weights[t + 1] = weights[t + 1].take_along_dim(order[:, None, :], 2)
        return (_flattened(weights, biases),)

    def network(self, parts: Parts) -> nn.Module:
        return _Row(parts[0], self.hidden)


class _Row(nn.Module):
    def __init__(self, row: Tensor, hidden: int) -> None:
        super().__init__()
        self.standard = Standard(row, (0,))
        self.first = nn.Linear(row.shape[1], hidden)
        self.width = hidden

    def forward(self, parts: Parts) -> Tensor:
        return torch.relu(self.first(self.standard(parts[0])))


class Standard(nn.Module):
    """Means to 0 and deviations to 1, by the shadows that train; an entry that never changes becomes 0."""

    mean: Tensor
    scale: Tensor

    def __init__(self, shadows: Tensor, over: tuple[int, ...]) -> None:
        super().__init__()
        deviation, mean = torch.std_mean(shadows, over, keepdim=True, correction=0)
        self.register_buffer("mean", mean)
        self.register_buffer("scale", torch.where(deviation > 1e-8, 1 / deviation.clamp(min=1e-8), 0.0))

    def forward(self, values: Tensor) -> Tensor:
        return (values - self.mean) * self.scale


def take(parts: Parts, models: Tensor) -> Parts:
    """What is read of these models."""
    return tuple(part[models] for part in parts)


def _flattened(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
    return torch.cat([each.flatten(1) for each in (*weights, *biases)], 1)


def _check_widths(widths: Sequence[int]) -> None:
    if min(widths) < 1:
        raise InputError(f"A width of a reader is {min(widths)}; it must be at least 1.")


READERS: dict[str, Reader] = {"deepsets": DeepSets(), "flat": Flat(), "sorted": Sorted()}


def make_reader(name: str) -> Reader:
    """The reader of this name with its default settings."""
    if name not in READERS:
        raise unknown_name("reader", name, READERS)
    return READERS[name]
