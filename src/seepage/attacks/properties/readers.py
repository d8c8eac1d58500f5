"""Networks that read networks: what a meta-model sees of a model's weights (document 003, section 3.2.2).

All but the last give the same answer in whatever order a model's hidden neurons stand:

    deepsets    each layer is a set of neurons, as in the document
    paths       how the model's outputs answer to its inputs; ours
    joined      both of these side by side
    sorted      all weights in a row, neurons sorted first
    flat        all weights in a row
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn

from seepage._core import InputError, Streams, unknown_name
from seepage.models.stack import Stack

Parts = tuple[Tensor, ...]  # what is read of models; the first axis of each is the models

PROBES = 64  # rows drawn where none are given; more of them changed little
_CHUNK = 128  # models whose answers are computed at once
_STILL = 1e-8  # a deviation or a norm below this is rounding


class Reader(Protocol):
    """Settings of a network that reads models."""

    def parts(self, stack: Stack) -> Parts:
        """What the network reads. Nothing is learnt in it: it is computed once, and mini batches are cut from it."""

    def network(self, parts: Parts) -> nn.Module:
        """A network parts -> (models, features) with freshly drawn weights.

        Args:
            parts: of the shadows that will train it; their means and deviations standardise what is read.
        """


@dataclass(frozen=True, kw_only=True)
class DeepSets:
    r"""Each layer is a set of neurons (Zaheer et al. 2017, Ganju et al. 2018).

    .. math:: N^1_i = \phi_1(w_i, b_i), \qquad
        N^t_i = \phi_t\Big(\sum_j w_{ij} N^{t-1}_j, \sum_j N^{t-1}_j, \sum_j w_{ij}, \sum_j w_{ij}^2, b_i\Big), \qquad
        L_t = \sum_i N^t_i

    for neuron i of layer t, with the weights :math:`w_{ij}` that come from neuron j of the layer before. The layers'
    :math:`L_t` are what the meta-model goes on with.

    Guarantees:
        A permutation of hidden neurons changes the features by rounding only.

    Args:
        hidden: width inside each :math:`\phi` of two layers.
        representation: width of :math:`N` and :math:`L`; 8 in the document.
        dropout: share of a neuron's incoming weights that is hidden from :math:`\phi_1` while training. With 509
            columns and a few thousand shadows it learns single shadows by heart otherwise.
    """

    hidden: int = 32
    representation: int = 8
    dropout: float = 0.3

    def __post_init__(self) -> None:
        _check((self.hidden, self.representation), self.dropout)

    def parts(self, stack: Stack) -> Parts:
        return (*stack.weights, *stack.biases)

    def network(self, parts: Parts) -> nn.Module:
        return _Sets(parts, self)


class _Sets(nn.Module):
    def __init__(self, parts: Parts, settings: DeepSets) -> None:
        super().__init__()
        weights, biases = parts[: len(parts) // 2], parts[len(parts) // 2 :]
        # Columns have an order, hence statistics of their own; the entries of a later layer have none.
        self.weights = nn.ModuleList(Standard(w, (0, 1, 2) if t else (0, 1)) for t, w in enumerate(weights))
        self.biases = nn.ModuleList(Standard(b, (0, 1)) for b in biases)
        size, hidden = settings.representation, settings.hidden
        # NOTE[DIFF] The document's phi_1 has two layers. A second one made it learn single shadows by heart.
        first = nn.Sequential(nn.Dropout(settings.dropout), nn.Linear(weights[0].shape[2] + 1, size), nn.ReLU())
        later = [
            nn.Sequential(nn.Linear(2 * size + 3, hidden), nn.ReLU(), nn.Linear(hidden, size), nn.ReLU())
            for _ in weights[1:]
        ]
        self.phi = nn.ModuleList([first, *later])

    def forward(self, parts: Parts) -> Tensor:
        weights = [standard(w) for standard, w in zip(self.weights, parts, strict=False)]
        biases = [standard(b) for standard, b in zip(self.biases, parts[len(weights) :], strict=True)]
        neurons = self.phi[0](torch.cat([weights[0], biases[0][:, :, None]], 2))  # (models, out, representation)
        layers = [neurons.mean(1)]  # the sum, in a size that does not depend on the number of neurons
        for phi, weight, bias in zip(list(self.phi)[1:], weights[1:], biases[1:], strict=True):
            # NOTE[DIFF] The document's phi_t is fed the list of all N of the layer before, beside the list of weights.
            # That depends on the order of neurons; here each weight stays with the neuron it comes from.
            own = [weight.mean(2, keepdim=True), weight.square().mean(2, keepdim=True), bias[:, :, None]]
            paths = torch.bmm(weight, neurons) / weight.shape[2] ** 0.5
            everyone = neurons.mean(1, keepdim=True).expand(-1, weight.shape[1], -1)
            neurons = phi(torch.cat([paths, everyone, *own], 2))
            layers.append(neurons.mean(1))
        # NOTE[DIFF] The outputs are no set: which of them is class 1 matters. Their N are listed, not summed.
        return torch.cat([*layers[:-1], neurons.flatten(1)], 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Paths:
    r"""How a model's outputs answer to its inputs; beyond the document.

    Read are, for each output against the first one, the outputs :math:`f(x)` on some rows x and the mean over these
    rows of :math:`\partial f / \partial x`: the sum over all paths from a column to the output, with the neurons that
    are switched on. Both are read as they are and again with their size divided out. A column's share in a model's
    decision leaves its mark here, however the model spreads it over neurons.

    Guarantees:
        A permutation of hidden neurons changes the features by rounding only.

    Args:
        rows: (rows, columns) as the models take them. An attacker has some, since shadow models train on rows; they
            help most where columns have different scales. Without them, normal noise is used.
        slope: of the models' leaky ReLU below zero; 0 for ReLU.
        hidden, direct: how many features with and without a ReLU.
        dropout: of what is read and of the features, while training.
    """

    rows: Tensor | None = None
    slope: float = 0.01
    hidden: int = 64
    direct: int = 16
    dropout: float = 0.5

    def __post_init__(self) -> None:
        _check((self.hidden, self.direct), self.dropout)
        if self.rows is not None and (self.rows.dim() != 2 or not len(self.rows)):
            raise InputError(f"The rows to read paths with have the shape {tuple(self.rows.shape)}; give a few rows.")
        if self.rows is not None and not bool(self.rows.isfinite().all()):
            raise InputError("The rows to read paths with hold values that are not finite.")
        if not 0 <= self.slope <= 1:
            raise InputError(f"The slope below zero is {self.slope}; it must lie between 0 and 1.")

    def parts(self, stack: Stack) -> Parts:
        rows = self._rows(stack.widths[0]).to(stack.weights[0])
        read = [_read_paths(stack.take(models), rows, self.slope) for models in _chunks(len(stack))]
        return (torch.cat(read),)

    def network(self, parts: Parts) -> nn.Module:
        return _Answers(parts[0], self)

    def _rows(self, columns: int) -> Tensor:
        if self.rows is None:
            drawn = Streams(0).numpy("probe rows", columns).standard_normal((PROBES, columns))
            return torch.from_numpy(drawn)
        if self.rows.shape[1] != columns:
            raise InputError(f"The rows to read paths with have {self.rows.shape[1]} columns, the models {columns}.")
        return self.rows


def _read_paths(stack: Stack, rows: Tensor, slope: float) -> Tensor:
    """(models, features): answers to the rows and mean sensitivities to the columns, each in two ways."""
    signal, gates = rows.expand(len(stack), -1, -1), []
    for weight, bias in zip(stack.weights[:-1], stack.biases[:-1], strict=True):
        signal = torch.baddbmm(bias[:, None], signal, weight.transpose(1, 2))
        gates.append(torch.where(signal > 0, 1.0, slope))  # (models, rows, neurons)
        signal = signal * gates[-1]
    last, bias = _against_first(stack.weights[-1]), _against_first(stack.biases[-1])
    answers = torch.baddbmm(bias[:, None], signal, last.transpose(1, 2)).transpose(1, 2)  # (models, outputs, rows)
    back = last[:, :, None]  # (models, outputs, rows, neurons)
    for layer in reversed(range(len(gates))):
        back = back * gates[layer][:, None]
        if layer == 0:
            back = back.mean(2, keepdim=True)  # the widest layer last, and once for all rows
        back = back @ stack.weights[layer][:, None]
    paths = back[:, :, 0]  # (models, outputs, columns)
    norm = paths.norm(dim=2, keepdim=True).clamp(min=_STILL)
    deviation, mean = torch.std_mean(answers, 2, keepdim=True, correction=0)
    relative = (answers - mean) / deviation.clamp(min=_STILL)
    return torch.cat([paths, paths / norm, norm.log(), answers, relative], 2).flatten(1)


def _against_first(values: Tensor) -> Tensor:
    """Outputs minus the first one: softmax knows differences only. A single output stays."""
    return values[:, 1:] - values[:, :1] if values.shape[1] > 1 else values


class _Answers(nn.Module):
    def __init__(self, read: Tensor, settings: Paths) -> None:
        super().__init__()
        self.standard = nn.Sequential(Standard(read, (0,)), nn.Dropout(settings.dropout))
        self.bent = nn.Sequential(nn.Linear(read.shape[1], settings.hidden), nn.ReLU(), nn.Dropout(settings.dropout))
        self.direct = nn.Linear(read.shape[1], settings.direct)

    def forward(self, parts: Parts) -> Tensor:
        read = self.standard(parts[0])
        return torch.cat([self.bent(read), self.direct(read)], 1)


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Sets and paths side by side: they see different things, and together tell more than either."""

    sets: DeepSets = field(default_factory=DeepSets)
    paths: Paths = field(default_factory=Paths)

    def parts(self, stack: Stack) -> Parts:
        return (*self.sets.parts(stack), *self.paths.parts(stack))

    def network(self, parts: Parts) -> nn.Module:
        return _Both(self.sets.network(parts[:-1]), self.paths.network(parts[-1:]))


class _Both(nn.Module):
    def __init__(self, sets: nn.Module, paths: nn.Module) -> None:
        super().__init__()
        self.sets, self.paths = sets, paths

    def forward(self, parts: Parts) -> Tensor:
        return torch.cat([self.sets(parts[:-1]), self.paths(parts[-1:])], 1)


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """What a client sent in several rounds: each is read by a network of its own, side by side.

    Args:
        reader: of one round.
        rounds: how many stand in a stack, one after the other (:meth:`Stack.chained`).
    """

    reader: Reader
    rounds: int

    def parts(self, stack: Stack) -> Parts:
        return tuple(part for each in stack.rounds(self.rounds) for part in self.reader.parts(each))

    def network(self, parts: Parts) -> nn.Module:
        return _Rounds(parts, self)


class _Rounds(nn.Module):
    def __init__(self, parts: Parts, settings: Rounds) -> None:
        super().__init__()
        self.size = len(parts) // settings.rounds
        self.each = nn.ModuleList(settings.reader.network(part) for part in self._cut(parts))

    def forward(self, parts: Parts) -> Tensor:
        return torch.cat([network(part) for network, part in zip(self.each, self._cut(parts), strict=True)], 1)

    def _cut(self, parts: Parts) -> list[Parts]:
        return [parts[place : place + self.size] for place in range(0, len(parts), self.size)]


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """All weights in a row, hidden neurons sorted by the sum of their incoming weights (Ganju et al. 2018)."""

    hidden: int = 64
    dropout: float = 0.5

    def __post_init__(self) -> None:
        _check((self.hidden,), self.dropout)

    def parts(self, stack: Stack) -> Parts:
        weights, biases = list(stack.weights), list(stack.biases)
        for layer in range(len(weights) - 1):  # the outputs have an order of their own
            order = weights[layer].sum(2).argsort(1)  # (models, out)
            weights[layer] = weights[layer].take_along_dim(order[:, :, None], 1)
            biases[layer] = biases[layer].take_along_dim(order, 1)
            weights[layer + 1] = weights[layer + 1].take_along_dim(order[:, None, :], 2)
        return (_flattened(weights, biases),)

    def network(self, parts: Parts) -> nn.Module:
        return _row(parts[0], self.hidden, self.dropout)


@dataclass(frozen=True, kw_only=True)
class Flat:
    """All weights in a row, as they come: one function has as many rows as its neurons have orders."""

    hidden: int = 64
    dropout: float = 0.5

    def __post_init__(self) -> None:
        _check((self.hidden,), self.dropout)

    def parts(self, stack: Stack) -> Parts:
        return (_flattened(stack.weights, stack.biases),)

    def network(self, parts: Parts) -> nn.Module:
        return _row(parts[0], self.hidden, self.dropout)


class Standard(nn.Module):
    """Means to 0 and deviations to 1, by the shadows that train; what never changes becomes 0."""

    mean: Tensor
    scale: Tensor

    def __init__(self, shadows: Tensor, over: tuple[int, ...]) -> None:
        super().__init__()
        deviation, mean = torch.std_mean(shadows, over, keepdim=True, correction=0)
        self.register_buffer("mean", mean)
        self.register_buffer("scale", torch.where(deviation > _STILL, 1 / deviation.clamp(min=_STILL), 0.0))

    def forward(self, values: Tensor) -> Tensor:
        return (values - self.mean) * self.scale


def take(parts: Parts, models: Tensor) -> Parts:
    """What is read of these models."""
    return tuple(part[models] for part in parts)


READERS: dict[str, type[DeepSets] | type[Paths] | type[Joined] | type[Sorted] | type[Flat]] = {
    "deepsets": DeepSets,
    "paths": Paths,
    "joined": Joined,
    "sorted": Sorted,
    "flat": Flat,
}


def make_reader(name: str) -> Reader:
    """The reader of this name with its default settings."""
    if name not in READERS:
        raise unknown_name("reader", name, READERS)
    return READERS[name]()


def _row(read: Tensor, hidden: int, dropout: float) -> nn.Module:
    return nn.Sequential(
        _First(), Standard(read, (0,)), nn.Dropout(dropout), nn.Linear(read.shape[1], hidden), nn.ReLU()
    )


class _First(nn.Module):
    """The only part there is."""

    def forward(self, parts: Parts) -> Tensor:
        return parts[0]


def _flattened(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
    return torch.cat([each.flatten(1) for each in (*weights, *biases)], 1)


def _chunks(models: int) -> Sequence[Tensor]:
    return torch.split(torch.arange(models), _CHUNK)


def _check(widths: Sequence[int], dropout: float) -> None:
    if min(widths) < 1:
        raise InputError(f"A reader has a width of {min(widths)}; it must be at least 1.")
    if not 0 <= dropout < 1:
        raise InputError(f"The dropout of a reader is {dropout}; it must be at least 0 and below 1.")
