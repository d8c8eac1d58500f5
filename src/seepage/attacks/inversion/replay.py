r"""The update that rows would have caused, how far it is from the observed one, and the slope of that by the rows.

FedSGD is one gradient, held in factors. FedAvg is a chain of local steps :math:`s_{t+1} = f_t(s_t, x_t)` of weights and
the optimiser's moments. Its slope is found backwards with the adjoint :math:`\lambda`,

.. math:: \lambda_t = (\partial_s f_t)^\top \lambda_{t+1}, \qquad \partial_{x_t} = (\partial_x f_t)^\top \lambda_{t+1},

so that one recorded step serves any number of epochs and batches, and only states are kept: all of them, or only those
at every k-th step where memory is short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.func import grad

from seepage.attacks.inversion.by_hand import ByHand
from seepage.attacks.inversion.comparison import Compared, compare, compare_entries
from seepage.attacks.inversion.objectives import Objective, Received
from seepage.attacks.inversion.priors import Prior, PriorScene
from seepage.models import (
    Parameters,
    factored_gradient,
    has_passes,
    linear_calls,
    over_runs,
    pullback,
    twice_differentiable,
    unflattened,
)

Opened = tuple[Tensor, Tensor | None]  # inputs, and labels where they are variables too
Opener = Callable[[Tensor], Opened]
State = tuple[Parameters, ...]  # weights, and the moments of the optimiser
Recorder = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What is minimised, for all runs of several observations at once.

    Args:
        scene: what is attacked.
        objective: the distance of updates, from two numbers per layer or from all entries.
        priors: what makes rows likely, beside the update.
        opener: from variables to inputs (and labels).
        kept: parameters of all runs that may be kept at a time (FedAvg).
    """

    scene: PriorScene
    objective: Objective | Received
    priors: Sequence[Prior]
    opener: Opener
    kept: int = 1 << 60

    def evaluation(self, recorder: Recorder) -> Callable[..., tuple[Tensor, Tensor]]:
        """A function of (variables, parameters, observed, own, length, labels) to losses (obs, runs) and slopes."""
        if self.scene.exchange.protocol == "fedsgd":
            # Layers are regrouped by hand, so an objective that looks at each one takes the general way.
            written_out = has_passes(self.scene.learner) and not self.objective.layers
            return ByHand(self) if written_out else PlainGradient(self)
        return _Training(self, recorder)

    def matched(
        self, factors: Any, dense: Parameters, observed: Parameters, own: Tensor, length: Tensor
    ) -> tuple[Tensor, Any, Parameters]:
        """Losses, and their slopes by the parts of the simulated update."""
        if isinstance(self.objective, Received):
            return compare_entries(self.objective, factors, dense, observed)
        losses, compared, by_dot, by_square = self._compared(factors, dense, observed, own, length)
        slopes, tensors = _pulled(compared, by_dot, by_square, layered=self.objective.layers)
        return losses, {name: slopes[name] for name in factors}, {name: tensors[name] for name in dense}

    def matched_along(
        self, factors: Any, dense: Parameters, observed: Parameters, own: Tensor, length: Tensor
    ) -> tuple[Tensor, Any, Parameters, Tensor]:
        """The same for an objective of the whole update, with slopes that are to be multiplied with the last result.

        All of them have the slope by the inner product in them. Whoever goes on linearly multiplies once, at the end.
        """
        losses, compared, by_dot, by_square = self._compared(factors, dense, observed, own, length)
        slopes, tensors = _pulled(compared, None, by_square / by_dot, layered=False)
        return losses, slopes, tensors, by_dot[:, :, 0]

    def _compared(
        self, factors: Any, dense: Parameters, observed: Parameters, own: Tensor, length: Tensor
    ) -> tuple[Tensor, list[Compared], Tensor, Tensor]:
        """Losses, layers, and the losses' slopes by each layer's two numbers (obs, runs, layers, 1, 1)."""
        chosen = self.objective
        assert not isinstance(chosen, Received)
        layered = chosen.layers
        compared = compare(factors, dense, observed, layered=layered)
        dots = torch.stack([layer.dot for layer in compared], -1)
        squares = torch.stack([layer.square for layer in compared], -1)
        if not layered:
            dots, squares, own = (number.sum(-1, keepdim=True) for number in (dots, squares, own))

        def objective(dots: Tensor, squares: Tensor) -> tuple[Tensor, Tensor]:
            losses = chosen(dots, squares, own, length)
            return losses.sum(), losses

        (by_dot, by_square), losses = grad(objective, argnums=(0, 1), has_aux=True)(dots, squares)
        return losses, compared, by_dot.float()[..., None, None], by_square.float()[..., None, None]

    def penalty(self, inputs: Tensor, parameters: Parameters) -> Tensor:
        """(obs, runs) how unlikely the rows are, by the priors."""
        total = inputs.new_zeros(inputs.shape[:2])
        for prior in self.priors:
            total = total + prior(inputs, parameters, self.scene)
        return total


def _pulled(
    compared: Sequence[Compared], by_dot: Tensor | None, by_square: Tensor, *, layered: bool
) -> tuple[Any, Parameters]:
    """Slopes by the factors and tensors of all layers."""
    slopes: Any = {}
    tensors: Parameters = {}
    for index, layer in enumerate(compared):
        place = index if layered else 0
        more, others = layer.pull(None if by_dot is None else by_dot[:, :, place], by_square[:, :, place])
        slopes |= more
        tensors |= others
    return slopes, tensors


class PlainGradient:
    """FedSGD of any net: the gradient is differentiated automatically."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._learner = twice_differentiable(problem.scene.learner)
        self._calls = linear_calls(self._learner, problem.scene.space.layout.width)

    def __call__(
        self, x: Tensor, parameters: Parameters, observed: Parameters, own: Tensor, length: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        problem = self._problem
        likely = bool(problem.priors)

        def forward(x: Tensor) -> Any:
            inputs, own_labels = problem.opener(x)
            runs = self._over_runs(inputs, parameters, labels if own_labels is None else own_labels)
            return (*runs, problem.penalty(inputs, parameters)) if likely else runs

        simulated, back = pullback(forward, x)
        losses, *slopes = problem.matched(simulated[0], simulated[1], observed, own, length)
        if likely:
            losses = losses + simulated[2]
            slopes.append(torch.ones_like(simulated[2]))
        return losses, back(tuple(slopes))[0]

    def _over_runs(self, inputs: Tensor, parameters: Parameters, labels: Tensor) -> Any:
        def one(inputs: Tensor, parameters: Parameters, labels: Tensor) -> Any:
            return factored_gradient(self._learner, self._calls, parameters, inputs, labels)

        return over_runs(one, inputs, parameters, labels, learner=self._learner, shared=self._problem.scene.shared)


class _Training:
    """FedAvg: one local step forward and one backward are recorded; the chain is a loop over them."""

    def __init__(self, problem: Problem, recorder: Recorder) -> None:
        self._problem = problem
        self._learner = twice_differentiable(problem.scene.learner)
        self._open = recorder(self._opened)
        self._forward = recorder(self._step)
        self._match = recorder(self._matched)
        self._backward = recorder(self._adjoint)
        self._close = recorder(self._closed)

    def __call__(
        self, x: Tensor, parameters: Parameters, observed: Parameters, own: Tensor, length: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        exchange, runs = self._problem.scene.exchange, x.shape[:2]
        inputs, targets = self._open(x, labels)
        batches = inputs.unflatten(2, (-1, exchange.batch_size))  # (obs, runs, batches, rows, width)
        aims = targets.unflatten(2, (-1, exchange.batch_size))
        start = {
            name: (value[None, None] if self._problem.scene.shared else value[:, None])
            .expand(*runs, *value.shape[0 if self._problem.scene.shared else 1 :])
            .contiguous()
            for name, value in parameters.items()
        }
        count, steps = batches.shape[2], exchange.steps
        training = exchange.training
        held = start if training.proximal else {}
        knobs = [
            (torch.tensor(rate, device=x.device), torch.tensor(number + 1.0, device=x.device))
            for number, rate in enumerate(training.rates(exchange.learning_rate, steps))
        ]
        current: State = (start, *training.fresh(start))
        size = sum(value.numel() for value in start.values()) * len(current)
        stride = 1 if steps * size <= self._problem.kept else math.ceil(math.sqrt(steps))

        def arguments(number: int) -> tuple[Any, ...]:
            place = number % count
            return held, batches[:, :, place], aims[:, :, place], *knobs[number]

        marks: dict[int, State] = {}
        for number in range(steps):
            if number % stride == 0:
                marks[number] = current
            current = self._forward(current, *arguments(number))
        losses, slope = self._match(start, current[0], observed, own, length)
        adjoint: State = (slope, *training.fresh(slope))
        slopes = torch.zeros_like(batches)
        aim_slopes = torch.zeros_like(aims) if aims.is_floating_point() else None
        for begin in reversed(range(0, steps, stride)):
            chain = [marks[begin]]
            for number in range(begin, min(begin + stride, steps) - 1):
                chain.append(self._forward(chain[-1], *arguments(number)))
            for number in reversed(range(begin, min(begin + stride, steps))):
                adjoint, *found = self._backward(chain.pop(), *arguments(number), adjoint)
                slopes[:, :, number % count] += found[0]
                if aim_slopes is not None:
                    aim_slopes[:, :, number % count] += found[1]
        extra = (aim_slopes.flatten(2, 3),) if aim_slopes is not None else ()
        penalty, slope = self._close(x, labels, parameters, slopes.flatten(2, 3), *extra)
        return losses + penalty, slope

    def _opened(self, x: Tensor, labels: Tensor) -> Any:
        inputs, own = self._problem.opener(x)
        if own is not None:
            return inputs, own
        sets = inputs.shape[2] // labels.shape[1]
        return inputs, labels.repeat(1, sets)[:, None].expand(-1, inputs.shape[1], -1).contiguous()

    def _one(
        self, state: State, held: Parameters, x: Tensor, y: Tensor, rate: Tensor, number: Tensor
    ) -> tuple[Parameters, ...]:
        """One local step of one run."""
        slope = self._learner.gradient(state[0], x, y)
        weights, moments = self._problem.scene.exchange.training.step(state[0], slope, state[1:], held, rate, number)
        return weights, *moments

    def _step(self, state: State, *arguments: Any) -> State:
        stepped: State = _of_runs(self._learner.mapped(self._one, _axes(state, *arguments)), state, *arguments)
        return stepped

    def _matched(
        self, start: Parameters, end: Parameters, observed: Parameters, own: Tensor, length: Tensor
    ) -> tuple[Tensor, Parameters]:
        change = {name: end[name] - start[name] for name in start}
        losses, _, slopes = self._problem.matched({}, change, observed, own, length)
        return losses, slopes

    def _adjoint(self, state: State, *arguments: Any) -> Any:
        def one(
            state: State, held: Parameters, x: Tensor, y: Tensor, rate: Tensor, number: Tensor, adjoint: State
        ) -> Any:
            if y.is_floating_point():
                return pullback(lambda s, x, y: self._one(s, held, x, y, rate, number), state, x, y)[1](adjoint)
            return pullback(lambda s, x: self._one(s, held, x, y, rate, number), state, x)[1](adjoint)

        return _of_runs(self._learner.mapped(one, _axes(state, *arguments)), state, *arguments)

    def _closed(self, x: Tensor, labels: Tensor, parameters: Parameters, slope: Tensor, *aims: Tensor) -> Any:
        problem = self._problem

        def forward(x: Tensor) -> Any:
            inputs, own = problem.opener(x)
            penalty = problem.penalty(inputs, parameters)
            return (inputs, penalty) if own is None else (inputs, penalty, own)

        simulated, back = pullback(forward, x)
        cotangents = (slope, torch.ones_like(simulated[1]))
        if len(simulated) == 3:
            cotangents = (*cotangents, *aims)  # type: ignore[assignment]
        return simulated[1], back(cotangents)[0]


def _axes(*arguments: Any) -> tuple[int | None, ...]:
    """Which arguments have an axis of runs: lone numbers and what is empty have none."""
    return tuple(0 if (each.dim() if isinstance(each, Tensor) else len(each)) else None for each in arguments)


def _of_runs(function: Callable[..., Any], *arguments: Any) -> Any:
    """A function over one axis of runs, for arguments over (observations, runs); lone numbers stay as they are."""
    first = next(iter(arguments[0][0].values()))
    shape = (first.shape[0], first.shape[1])

    def flat(tree: Any) -> Any:
        if isinstance(tree, Tensor):
            return tree.flatten(0, 1) if tree.dim() else tree
        if isinstance(tree, dict):
            return {name: flat(value) for name, value in tree.items()}
        return tuple(flat(value) for value in tree)

    return unflattened(function(*(flat(argument) for argument in arguments)), shape)
