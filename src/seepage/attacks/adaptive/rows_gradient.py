"""The gradient of every row by itself, in factors, as a client would send it."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.models import Factors, Learner, Parameters, Traced, factored_gradient, linear_calls, parameter_name

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
        self._parameters, self._clip, self._calls = parameters, clip, linear_calls(learner, width)
        self._others = _others(learner, self._calls)
        biased = {name: parameter_name(name, "bias") in parameters for name in self._calls}

        def pairs(parameters: Parameters, x: Tensor, y: Tensor) -> Pairs:
            if self._others:  # of these, every row's gradient is asked for by itself
                factors, dense = learner.mapped(one, in_dims=(None, 0, 0))(parameters, x[:, None], y[:, None])
            else:
                factors, dense = one(parameters, x, y)
            found = []
            for name, (slopes, inputs) in factors.items():
                slopes, inputs = slopes.reshape(len(x), -1), inputs.reshape(len(x), -1)
                bias = [inputs.new_ones(len(x), 1)] if biased[name] else []
                scale = 1 if self._others else len(x)  # the mean over rows is undone
                found.append((slopes * scale, torch.cat([inputs, *bias], 1)))
            return found + [(dense[name].flatten(1), x.new_ones(len(x), 1)) for name in self._others]

        def one(parameters: Parameters, x: Tensor, y: Tensor) -> tuple[Factors, Parameters]:
            return factored_gradient(learner, self._calls, parameters, x, y)

        self._pairs = Traced(pairs, steady=learner.vectorised)

    def observed(self, update: Parameters) -> list[Tensor]:
        """Updates (observations, ...) as one matrix (observations, out, in) for each layer, its bias as last column.

        What is no linear layer is a matrix of one column.
        """
        found = []
        for name in self._calls:
            weight, bias = update[parameter_name(name, "weight")], update.get(parameter_name(name, "bias"))
            found.append(weight if bias is None else torch.cat([weight, bias[..., None]], -1))
        return found + [update[name].flatten(1)[..., None] for name in self._others]

    def __call__(self, x: Tensor, y: Tensor) -> Pairs:
        """Rows (..., width) with labels (...)."""
        rows, labels = x.reshape(-1, x.shape[-1]).contiguous(), y.reshape(-1).contiguous()
        flat: Pairs = self._pairs(self._parameters, rows, labels)
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
