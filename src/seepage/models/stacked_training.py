"""Trains many small networks at once: shadow models for property inference (document 003, section 3.2.1).

One step of one such network is too small to keep a processor busy: a plain PyTorch loop at 509-32-16-8-2 and 64 rows
spends most of its time between the operations. Here every tensor has a leading axis of models, and a step of all of
them is thirty calls. The backward pass is written out; leaky ReLU networks need no more than a few lines.

Two forms of the first layer were measured at 509 columns, of which 501 are one-hot columns of 32 categorical ones, 64
rows, one thread, microseconds for one model and step: dense products over gathered rows 16 to gather, 21 forward, 23
backward; sums of looked-up weights 1, 5 and 15. The second is the one kept. Frequent categories as dense columns beside
lookups of the rare ones were no faster: the bookkeeping of unequal rows eats what is saved.

Arithmetic of one model and one epoch of 11,971 rows: the dense network needs 0.83 GFLOP, with lookups 0.10 GFLOP and
3.1 million Adam updates remain. Those updates read and write 0.45 MB for each model and step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.sparse import csc_array
from torch import Tensor
from torch.nn import functional
from torch.optim.adam import adam

from seepage._core import InputError, Streams
from seepage.models.stack import Stack
from seepage.models.stacked_privacy import Noise, clip_errors

CHUNK = 128  # models trained together; fewer leave time between the calls, more do not fit into the cache
EVALUATED = 4096  # rows that go through a network at once


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one network is built and trained. The defaults are document 003's.

    Weights start as Xavier's uniform ones, biases as ``torch.nn.Linear``'s; the optimiser is Adam with torch's betas,
    the loss the negative log-likelihood.

    Args:
        hidden: neurons of the hidden layers.
        epochs: passes over the rows.
        batch_size: rows of a step; the last batch of an epoch may be smaller.
        rate: of Adam.
        slope: of the leaky ReLU below zero.
        clip: DP-SGD: the longest that a row's gradient may be; None clips nothing.
        noise: DP-SGD: deviation of the noise on a batch's summed gradient, in clips.
    """

    hidden: tuple[int, ...] = (32, 16, 8)
    epochs: int = 1
    batch_size: int = 64
    rate: float = 1e-3
    slope: float = 0.01
    clip: float | None = None
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"The hidden layers are {self.hidden}; at least one layer of at least 1 neuron is needed.")
        if self.epochs < 1 or self.batch_size < 1:
            raise InputError(f"There are {self.epochs} epochs of batches of {self.batch_size}; both must be 1 or more.")
        if not (0 < self.rate < math.inf and 0 < self.slope <= 1):
            raise InputError(
                f"The rate is {self.rate} and the slope {self.slope}; both must be positive, the slope <= 1."
            )
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise InputError(f"The clipping norm is {self.clip:g}; it must be above 0.")
        if not 0 <= self.noise < math.inf:
            raise InputError(f"The noise multiplier is {self.noise:g}; it must be 0 or above.")
        if self.noise and self.clip is None:
            raise InputError(f"The noise multiplier is {self.noise:g}, but noise needs a clipping norm; set clip too.")


@dataclass(frozen=True, eq=False)
class Encoded:
    """Labelled rows as a network takes them, without the zeros of one-hot columns.

    Args:
        numbers: (rows, numeric) float32, the first columns of a network's input.
        places: (rows, categorical) int32: which one-hot columns are 1; ``onehot`` stands for an unknown category.
        onehot: how many one-hot columns follow the numbers.
        labels: (rows,) int64.
        classes: how many.
    """

    numbers: Tensor
    places: Tensor
    onehot: int
    labels: Tensor
    classes: int

    def __post_init__(self) -> None:
        rows = {len(self.numbers), len(self.places), len(self.labels)}
        if len(rows) > 1:
            raise InputError(f"Numbers, categories and labels have different numbers of rows: {sorted(rows)}.")
        if not bool(torch.isfinite(self.numbers).all()):
            raise InputError("Some numbers of the rows are NaN or infinite.")
        for name, values, end in (("category", self.places, self.onehot + 1), ("label", self.labels, self.classes)):
            if values.numel() and not 0 <= int(values.min()) <= int(values.max()) < end:
                found = f"{int(values.min())} to {int(values.max())}"
                raise InputError(f"The {name} codes are {found}; 0 to {end - 1} are allowed.")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def width(self) -> int:
        """Columns a network sees."""
        return self.numbers.shape[1] + self.onehot

    @staticmethod
    def of(numbers: np.ndarray, codes: np.ndarray, sizes: Sequence[int], labels: np.ndarray, classes: int) -> Encoded:
        """From numbers, category codes column by column (-1 is unknown) and how many categories each column has."""
        starts = np.cumsum([0, *sizes])
        places = np.where(codes < 0, starts[-1], codes + starts[:-1])
        return Encoded(
            torch.from_numpy(np.ascontiguousarray(numbers, dtype=np.float32)),
            torch.from_numpy(np.ascontiguousarray(places, dtype=np.int32)),
            int(starts[-1]),
            torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64)),
            classes,
        )

    def take(self, rows: Tensor) -> Encoded:
        """These rows, in this order."""
        return Encoded(self.numbers[rows], self.places[rows], self.onehot, self.labels[rows], self.classes)

    def dense(self) -> Tensor:
        """(rows, width): with the zeros, for a network that is not stacked."""
        ones = torch.zeros(len(self), self.onehot + 1).scatter_(1, self.places.long(), 1.0)
        return torch.cat([self.numbers, ones[:, :-1]], 1)


def train_stack(
    recipe: Recipe,
    table: Encoded,
    rows: Tensor,
    seeds: Sequence[int],
    *,
    start: Stack | None = None,
    chunk: int = CHUNK,
) -> Stack:
    """Train one network on each line of ``rows``.

    Args:
        recipe: of all networks.
        table: all rows.
        rows: (models, count) row numbers of ``table``. The first epoch takes them in this order, later ones in an order
            of the model's seed.
        seeds: one for each model: of its first weights and later orders.
        start: first weights instead, as when a model is handed on in sequential federated learning.
        chunk: how many are trained at once.

    Guarantees:
        A model is the same whatever the others are, to within float32's rounding; after one epoch it is within 1e-4 of
        what a plain ``torch.nn.Sequential`` and ``torch.optim.Adam`` make of the same rows and weights. Where the input
        of a leaky ReLU is zero to within rounding, float32 does not determine the model, and the plain loop differs by
        as much from itself with the rows of a batch in another order: one of twelve models on Census-Income, by 0.003.
    """
    widths = (table.width, *recipe.hidden, table.classes)
    _check(table, rows, seeds, start, widths)
    if start is None:
        start = Stack.cat([first_weights(widths, seed) for seed in seeds])
    table = replace(table, numbers=functional.pad(table.numbers, (0, 1), value=1.0))  # the bias is its weight
    trained = []
    for models in torch.split(torch.arange(len(rows)), chunk):
        nets = _Nets(start.take(models), table, recipe, [seeds[model] for model in models.tolist()])
        for epoch in range(recipe.epochs):
            order = rows[models] if epoch == 0 else _reordered(rows, models, seeds, epoch)
            for batch in torch.split(order, recipe.batch_size, 1):
                nets.step(batch)
        trained.append(nets.stack())
    return Stack.cat(trained)


@torch.no_grad()
def gradient_stack(
    recipe: Recipe, table: Encoded, rows: Tensor, seeds: Sequence[int], *, start: Stack, chunk: int = CHUNK
) -> Stack:
    """The gradient of the mean loss of all rows, for each network of ``start`` and its line of ``rows``.

    This is what a FedSGD client sends. With DP-SGD every row's gradient is clipped, and noise comes once.

    Args:
        recipe: clip, noise and slope are used; ``batch_size`` rows are worked on at once, which changes nothing.
        table, rows, seeds, chunk: as :func:`train_stack` has them; seeds are those of the noise.
        start: the networks, one for each line.
    """
    widths = (table.width, *recipe.hidden, table.classes)
    _check(table, rows, seeds, start, widths)
    table = replace(table, numbers=functional.pad(table.numbers, (0, 1), value=1.0))
    found = []
    for models in torch.split(torch.arange(len(rows)), chunk):
        nets = _Nets(start.take(models), table, recipe, [seeds[model] for model in models.tolist()])
        found.append(nets.gradient(rows[models], recipe.batch_size))
    return Stack.cat(found)


def first_weights(widths: Sequence[int], seed: int) -> Stack:
    """One untrained network: Xavier's uniform weights, ``torch.nn.Linear``'s biases."""
    generator = torch.Generator().manual_seed(Streams(seed).integer("weights"))
    weights, biases = [], []
    for entering, leaving in itertools.pairwise(widths):
        bound = math.sqrt(6 / (entering + leaving))
        weights.append(torch.empty(1, leaving, entering).uniform_(-bound, bound, generator=generator))
        bound = 1 / math.sqrt(entering)
        biases.append(torch.empty(1, leaving).uniform_(-bound, bound, generator=generator))
    return Stack(tuple(weights), tuple(biases))


@torch.no_grad()
def logits(stack: Stack, table: Encoded, slope: float = Recipe.slope) -> Iterator[Tensor]:
    """(rows, classes) of one model after the other."""
    _check_widths(stack, table)
    numeric = table.numbers.shape[1]
    blocks = list(zip(torch.split(table.numbers, EVALUATED), torch.split(table.places, EVALUATED), strict=True))
    for model in range(len(stack)):
        first, *others = [weight[model].T.contiguous() for weight in stack.weights]
        bias, *biases = [each[model] for each in stack.biases]
        looked_up = torch.cat([first[numeric:], torch.zeros(1, first.shape[1])])
        parts = []
        for numbers, places in blocks:
            signal = _summed(looked_up, places).addmm_(numbers, first[:numeric]).add_(bias)
            for weight, shift in zip(others, biases, strict=True):
                signal = torch.addmm(shift, functional.leaky_relu_(signal, slope), weight)
            parts.append(signal)
        yield torch.cat(parts)


def accuracy(stack: Stack, table: Encoded, slope: float = Recipe.slope) -> tuple[Tensor, Tensor]:
    """(models,) share of rows whose class is found, and the mean of that share over the classes, rare ones alike."""
    if len(table) == 0 or len(stack) == 0:
        raise InputError(f"There are {len(table)} rows and {len(stack)} models; accuracy needs at least one of each.")
    sizes = torch.bincount(table.labels, minlength=table.classes)
    found = []
    for scores in logits(stack, table, slope):
        right = table.labels[scores.argmax(1) == table.labels]
        found.append(torch.bincount(right, minlength=table.classes))
    hits = torch.stack(found)  # (models, classes)
    there = sizes > 0
    return hits.sum(1) / len(table), (hits[:, there] / sizes[there]).mean(1)


class _Lookup:
    """Which weights the rows of a batch look up, and the way back: errors of rows added to the weights they looked up.

    scipy's sparse product takes a tenth of the time of torch's ``index_add_`` and of the backward pass of its
    ``embedding_bag``. Its matrix is built once; every batch only writes other places into it.
    """

    def __init__(self, rows: int, columns: int, weights: int) -> None:
        ends = np.arange(rows + 1, dtype=np.int32) * np.int32(columns)
        cells = np.ones(rows * columns, dtype=np.float32), np.zeros(rows * columns, dtype=np.int32), ends
        self.matrix = csc_array(cells, shape=(weights, rows))
        self.places = torch.from_numpy(self.matrix.indices).view(rows, columns)

    def scattered(self, error: Tensor) -> Tensor:
        """(weights, out) from (models, batch, out)."""
        return torch.from_numpy(self.matrix @ error.view(-1, error.shape[2]).numpy())


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


class _Nets:
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
        self.lookups: dict[int, _Lookup] = {}
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

        bags = _summed(self.looked_up.view(-1, self.hidden), lookup.places)
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
            for parameter, summed in zip(self.adam.parameters, total, strict=True):
                summed.add_(parameter.grad)  # type: ignore[arg-type]
        for parameter, summed in zip(self.adam.parameters, total, strict=True):
            parameter.grad = summed
        if self.noise is not None:
            self.noise.add(self.deviation / rows.shape[1])
        return self._as_stack(total)

    def _lookup(self, batch: int, columns: int) -> _Lookup:
        """The buffers of this batch size: there are two, as the last batch is smaller."""
        if batch not in self.lookups:
            self.lookups[batch] = _Lookup(self.models * batch, columns, self.models * self.looked_up.shape[1])
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


def _summed(weights: Tensor, places: Tensor) -> Tensor:
    """(rows, out): the sum of the weights each row looks up."""
    if places.shape[1] == 0:
        return torch.zeros(len(places), weights.shape[1])
    return functional.embedding_bag(places, weights, mode="sum")


def _before_relu(error: Tensor, signal: Tensor, slope: float) -> Tensor:
    """The error of what went into a leaky ReLU; its sign is the sign of the signal that came out."""
    found: Tensor = torch.ops.aten.leaky_relu_backward(error, signal, slope, True)
    return found


def _reordered(rows: Tensor, models: Tensor, seeds: Sequence[int], epoch: int) -> Tensor:
    """Each model's rows in the order of its seed and epoch."""
    orders = [Streams(seeds[model]).numpy("order", epoch).permutation(rows.shape[1]) for model in models.tolist()]
    return rows[models].gather(1, torch.from_numpy(np.stack(orders)))


def _check(table: Encoded, rows: Tensor, seeds: Sequence[int], start: Stack | None, widths: tuple[int, ...]) -> None:
    """Stop at rows, seeds or weights that do not belong together."""
    if rows.dim() != 2 or rows.numel() == 0:
        raise InputError(
            f"Row numbers have the shape {tuple(rows.shape)}; (models, rows of each) is needed, both 1 or more."
        )
    if not 0 <= int(rows.min()) <= int(rows.max()) < len(table):
        raise InputError(f"A row number lies outside the table's {len(table)} rows.")
    if len(seeds) != len(rows):
        raise InputError(f"There are {len(seeds)} seeds for {len(rows)} models.")
    if start is not None and (start.widths != widths or len(start) != len(rows)):
        raise InputError(
            f"The first weights are of {len(start)} models {'-'.join(map(str, start.widths))}; {len(rows)} models "
            f"{'-'.join(map(str, widths))} are trained."
        )


def _check_widths(stack: Stack, table: Encoded) -> None:
    if (stack.widths[0], stack.widths[-1]) != (table.width, table.classes):
        raise InputError(
            f"The models are {'-'.join(map(str, stack.widths))}, but the rows have {table.width} columns and "
            f"{table.classes} classes."
        )
