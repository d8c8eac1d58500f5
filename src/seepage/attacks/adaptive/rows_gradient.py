"""The gradient of every row by itself, in factors, as a client would send it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from seepage.models import (
    Factors,
    Learner,
    Parameters,
    Traced,
    factored_gradient,
    has_passes,
    linear_calls,
    parameter_name,
    passes_of,
)

Pairs = list[
    tuple[Tensor, Tensor]
]  # for each layer slopes (..., out) and inputs (..., in), a 1 at their end for a bias


FEW = 4096  # parameters outside of linear layers, such as those of norms, that are held for every row


def whole_in_factors(learner: Learner, width: int) -> str:
    """Why a row's gradient does not come in factors alone; empty if it does."""
    calls, initial = linear_calls(learner, width), learner.initial()
    if any(each != [1] for each in calls.values()):
        return "The model's linear layers see a row several times."
    if not learner.vectorised or sum(initial[name].numel() for name in _others(learner, calls)) > FEW:
        return "The model has many parameters beside its linear layers."
    if learner.batch_statistics or learner.abilities.mixes:
        return "The model mixes the rows of a batch."
    if learner.has_noise:
        return "The clients use dropout, and which entries they drop is not known."
    if learner.criterion is not None:
        return "The model has a loss of its own, which need not be a mean over rows."
    outputs = learner.outputs(learner.initial(), torch.zeros(1, width)).shape[-1]
    if learner.task == "binary" and outputs == 2 and learner.positive_weight != 1:
        return "The loss divides by the weights of a batch's classes, so a row's part in it depends on the others."
    return ""


class RowsGradient:
    """A function from rows to their gradients.

    Args:
        learner, parameters: the model at hand.
        width: of a row.
        clip: norm to which a client shortens every row's gradient; 0 for none.
    """

    def __init__(self, learner: Learner, parameters: Parameters, width: int, clip: float = 0.0) -> None:
        self._learner, self._parameters, self._clip = learner, parameters, clip
        self._calls = linear_calls(learner, width)
        self._others = _others(learner, self._calls)
        self._biased = {name: parameter_name(name, "bias") in parameters for name in self._calls}
        self._pairs = self._written_out if has_passes(learner) else self._differentiated()

    def _written_out(self, x: Tensor, y: Tensor) -> Pairs:
        """By the net's own passes, each row as a run of its own: a third of the time of differentiating row by row."""
        network = passes_of(self._learner, self._parameters, len(x))
        outputs = network.forward(x[None])[0]
        with torch.enable_grad():
            outputs.requires_grad_()
            (slopes,) = torch.autograd.grad(self._learner.loss_of_outputs(outputs, y) * len(x), outputs)
        found = network.backward(slopes[None])
        dense = {name: each[0] for name, each in found.dense.items()}
        return self._joined({name: found.factors[name] for name in self._calls}, dense, len(x))

    def _differentiated(self) -> Callable[[Tensor, Tensor], Pairs]:
        """By automatic differentiation, for any model."""
        learner, calls, others = self._learner, self._calls, self._others

        def one(parameters: Parameters, x: Tensor, y: Tensor) -> tuple[Factors, Parameters]:
            return factored_gradient(learner, calls, parameters, x, y)

        def pairs(parameters: Parameters, x: Tensor, y: Tensor) -> Pairs:
            if others:  # of these, every row's gradient is asked for by itself
                factors, dense = learner.mapped(one, in_dims=(None, 0, 0))(parameters, x[:, None], y[:, None])
                return self._joined(factors, dense, len(x))
            factors, _ = one(parameters, x, y)  # of the mean over rows, which is undone
            return self._joined(
                {name: (slopes * len(x), inputs) for name, (slopes, inputs) in factors.items()}, {}, len(x)
            )

        traced = Traced(pairs, steady=learner.vectorised)
        return lambda x, y: traced(self._parameters, x, y)

    def _joined(self, factors: Factors, dense: Parameters, count: int) -> Pairs:
        """Slopes and inputs (rows, ...) of every linear layer; all else as one layer with a single input of 1."""
        found = []
        for name, (slopes, inputs) in factors.items():
            slopes, inputs = slopes.reshape(count, -1), inputs.reshape(count, -1)
            bias = [inputs.new_ones(count, 1)] if self._biased[name] else []
            found.append((slopes, torch.cat([inputs, *bias], 1)))
        if self._others:
            rest = torch.cat([dense[name].reshape(count, -1) for name in self._others], 1)
            found.append((rest, rest.new_ones(count, 1)))
        return found

    def observed(self, update: Parameters) -> list[Tensor]:
        """Updates (observations, ...) as one matrix (observations, out, in) for each layer, its bias as last column.

        What is no linear layer is one matrix of a single column.
        """
        found = []
        for name in self._calls:
            weight, bias = update[parameter_name(name, "weight")], update.get(parameter_name(name, "bias"))
            found.append(weight if bias is None else torch.cat([weight, bias[..., None]], -1))
        rest = [update[name].flatten(1) for name in self._others]
        return [*found, torch.cat(rest, 1)[..., None]] if rest else found

    def __call__(self, x: Tensor, y: Tensor) -> Pairs:
        """Rows (..., width) with labels (...)."""
        rows, labels = x.reshape(-1, x.shape[-1]).contiguous(), y.reshape(-1).contiguous()
        flat: Pairs = self._pairs(rows, labels)
        if self._clip:
            squares = [(slopes.square().sum(1) * inputs.square().sum(1)) for slopes, inputs in flat]
            norms = torch.stack(squares).sum(0).sqrt()
            factors = (self._clip / (norms + 1e-6)).clamp(max=1.0)  # as the client does
            flat = [(slopes * factors[:, None], inputs) for slopes, inputs in flat]
        return [(slopes.reshape(*x.shape[:-1], -1), inputs.reshape(*x.shape[:-1], -1)) for slopes, inputs in flat]


def _others(learner: Learner, calls: dict[str, list[int]]) -> list[str]:
    """Parameters that belong to no linear layer."""
    owned = {parameter_name(name, kind) for name in calls for kind in ("weight", "bias")}
    return [name for name in learner.initial() if name not in owned]
