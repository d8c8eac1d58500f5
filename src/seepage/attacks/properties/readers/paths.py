"""How a model's outputs answer to its inputs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seepage._core import InputError, Streams
from seepage.attacks.properties.readers.reader import STILL, Parts, Standard, check, chunks
from seepage.models.stack import Stack

PROBES = 64  # rows drawn where none are given; more of them changed little


@dataclass(frozen=True, kw_only=True, eq=False)
class Paths:
    r"""How a model's outputs answer to its inputs; beyond the thesis.

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

    References:
        Seepage (``docs/explanation/property-inference.md``).

    Example:
        >>> Paths(hidden=32).direct
        16
    """

    rows: Tensor | None = None
    slope: float = 0.01
    hidden: int = 64
    direct: int = 16
    dropout: float = 0.5

    def __post_init__(self) -> None:
        check((self.hidden, self.direct), self.dropout)
        if self.rows is not None and (self.rows.dim() != 2 or not len(self.rows)):
            raise InputError(f"The rows to read paths with have the shape {tuple(self.rows.shape)}; give a few rows.")
        if self.rows is not None and not bool(self.rows.isfinite().all()):
            raise InputError("The rows to read paths with hold values that are not finite.")
        if not 0 <= self.slope <= 1:
            raise InputError(f"The slope below zero is {self.slope}; it must lie between 0 and 1.")

    def parts(self, stack: Stack) -> Parts:
        rows = self._rows(stack.widths[0]).to(stack.weights[0])
        read = [_read_paths(stack.take(models), rows, self.slope) for models in chunks(len(stack))]
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
    norm = paths.norm(dim=2, keepdim=True).clamp(min=STILL)
    deviation, mean = torch.std_mean(answers, 2, keepdim=True, correction=0)
    relative = (answers - mean) / deviation.clamp(min=STILL)
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
