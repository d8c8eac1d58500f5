"""Networks that train side by side, by hand: forwards, backwards, one step of Adam."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional
from torch.optim.adam import adam

from seepage.models.encoded import Encoded
from seepage.models.lookup import Lookup, summed
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_privacy import Noise, clip_errors


class _Adam:
    """Torch's fused Adam on tensors whose ``grad`` is set.

    The class ``torch.optim.Adam`` gives the same numbers, but loads torch's compiler first: seconds in every worker.
    """

    def __init__(self, parameters: list[Tensor], rate: float) -> None:
        self.parameters, self.rate = parameters, rate
        self.means = [torch.zeros_like(parameter) for parameter in parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in parameters]
        self.steps = [torch.zeros(()) for _ in parameters]

    def step(self) -> None:
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        adam(
            self.parameters, gradients, self.means, self.squares, [], self.steps, fused=True, foreach=False,
            amsgrad=False, beta1=0.9, beta2=0.999, lr=self.rate, weight_decay=0.0, eps=1e-8, maximize=False,
        )  # fmt: skip


class Nets:
    """Networks of one chunk, their gradients and their optimiser.

    The first layer is kept as (models, in, out), so that a category is a row to look up; its bias is the weight of a
    column of ones. Later layers are (models, out, in) and signals (models, features, batch): the softmax then runs over
    whole vectors, which is ten times faster than over two numbers at a time.
    """

    def __init__(self, start: Stack, table: Encoded, recipe: Recipe, seeds: Sequence[int]) -> None:
        """``table`` already has its column of ones."""
        numeric = table.numbers.shape[1] - 1
        first = start.weights[0].transpose(1, 2)  # (models, in, out)
        self.models, self.hidden = len(start), first.shape[2]
        unknown = torch.zeros(self.models, 1, self.hidden)  # a category nobody knows adds nothing
        self.looked_up = torch.cat([first[:, numeric:], unknown], 1)
        self.dense = torch.cat([first[:, :numeric], start.biases[0][:, None]], 1)
        self.weights = [weight.clone() for weight in start.weights[1:]]
        self.biases = [bias[:, :, None].clone() for bias in start.biases[1:]]
        parameters = [self.looked_up, self.dense, *self.weights, *self.biases]
        self.adam = _Adam(parameters, recipe.rate)
        self.slope, self.clip = recipe.slope, recipe.clip
        self.lookups: dict[int, Lookup] = {}
        self.classes = torch.arange(start.widths[-1])[:, None]
        self.shift = torch.arange(self.models, dtype=torch.int32)[:, None] * self.looked_up.shape[1]
        self.table = table
        self.deviation = recipe.noise * (recipe.clip or 0.0)
        self.noise = Noise(seeds, parameters) if self.deviation else None
        if self.clip is not None:  # squared norms of rows as the first layer sees them
            self.row_sizes = table.numbers.square().sum(1) + (table.places < table.onehot).sum(1)

    @torch.no_grad()
    def step(self, rows: Tensor) -> None:
        """One batch of every model. ``rows``: (models, batch)."""
        self.backward(rows, rows.shape[1])
        if self.noise is not None:
            self.noise.add(self.deviation / rows.shape[1])
            self.looked_up.grad[:, -1] = 0.0  # type: ignore[index]
        self.adam.step()

    def backward(self, rows: Tensor, divisor: int) -> None:
        """Set every ``grad`` to the sum of the rows' gradients, clipped if so asked, over ``divisor``."""
        table, batch, chosen = self.table, rows.shape[1], rows.reshape(-1)
        lookup = self._lookup(batch, table.places.shape[1])
        torch.index_select(table.places, 0, chosen, out=lookup.places)
        lookup.places.view(self.models, -1).add_(self.shift)
        numbers = table.numbers.index_select(0, chosen).view(self.models, batch, -1)
        labels = table.labels.index_select(0, chosen).view(self.models, 1, batch)

        bags = summed(self.looked_up.view(-1, self.hidden), lookup.places)
        first = bags.view(self.models, batch, self.hidden).baddbmm_(numbers, self.dense)
        signals = [functional.leaky_relu_(first, self.slope).transpose(1, 2)]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signals.append(functional.leaky_relu_(torch.baddbmm(bias, weight, signals[-1]), self.slope))
        error = torch.softmax(torch.baddbmm(self.biases[-1], self.weights[-1], signals[-1]), 1)
        errors = [error.sub_((labels == self.classes).float()).div_(divisor)]  # (models, classes, batch)
        for layer in reversed(range(1, len(self.weights))):
            error = torch.bmm(self.weights[layer].transpose(1, 2), errors[0])
            errors.insert(0, _before_relu(error, signals[layer], self.slope))
        error = torch.bmm(errors[0].transpose(1, 2), self.weights[0])  # (models, batch, hidden), as the lookups are
        error = _before_relu(error, first, self.slope)
        if self.clip is not None:
            sizes = [signal.square().sum(1).add_(1.0) for signal in signals]
            entering = self.row_sizes.index_select(0, chosen).view(self.models, batch)
            clip_errors([error.transpose(1, 2), *errors], [entering, *sizes], self.clip / divisor)

        for weight, bias, later, signal in zip(self.weights, self.biases, errors, signals, strict=True):
            weight.grad, bias.grad = torch.bmm(later, signal.transpose(1, 2)), later.sum(2, keepdim=True)
        self.dense.grad = torch.bmm(numbers.transpose(1, 2), error)
        self.looked_up.grad = lookup.scattered(error).view_as(self.looked_up)
        self.looked_up.grad[:, -1] = 0.0

    def gradient(self, rows: Tensor, batch_size: int) -> Stack:
        """Of the mean loss of all rows, (models, count)."""
        total = [torch.zeros_like(parameter) for parameter in self.adam.parameters]
        for batch in torch.split(rows, batch_size, 1):
            self.backward(batch, rows.shape[1])
            for parameter, slope in zip(self.adam.parameters, total, strict=True):
                slope.add_(parameter.grad)  # type: ignore[arg-type]
        for parameter, slope in zip(self.adam.parameters, total, strict=True):
            parameter.grad = slope
        if self.noise is not None:
            self.noise.add(self.deviation / rows.shape[1])
        return self._as_stack(total)

    def _lookup(self, batch: int, columns: int) -> Lookup:
        """The buffers of this batch size: there are two, as the last batch is smaller."""
        if batch not in self.lookups:
            self.lookups[batch] = Lookup(self.models * batch, columns, self.models * self.looked_up.shape[1])
        return self.lookups[batch]

    def stack(self) -> Stack:
        """As they are now."""
        return self._as_stack(self.adam.parameters)

    def _as_stack(self, parameters: Sequence[Tensor]) -> Stack:
        """From this form of the first layer to the common one."""
        looked_up, dense, *others = parameters
        first = torch.cat([dense[:, :-1], looked_up[:, :-1]], 1).transpose(1, 2).contiguous()
        weights, biases = others[: len(self.weights)], others[len(self.weights) :]
        return Stack((first, *weights), (dense[:, -1].clone(), *(bias[:, :, 0] for bias in biases)))


def _before_relu(error: Tensor, signal: Tensor, slope: float) -> Tensor:
    """The error of what went into a leaky ReLU; its sign is the sign of the signal that came out."""
    found: Tensor = torch.ops.aten.leaky_relu_backward(error, signal, slope, True)
    return found
