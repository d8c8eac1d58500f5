"""Loss, gradient and local training, written once: the honest client and every attacker who replays it use this.

Parameters are a dictionary of tensors and an argument of every function, so that many clients, restarts or shadow
models can be computed in one call with a leading axis.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vjp, vmap
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.batchnorm import _BatchNorm

from seepage._core import InputError
from seepage.models.batch_norm import momenta, seen_statistics, with_batch_statistics, with_stored_statistics
from seepage.models.bottleneck import Bottleneck
from seepage.models.entry import Way
from seepage.models.one_by_one import Axes, one_by_one

Parameters = dict[str, Tensor]
LearningTask = Literal["binary", "multiclass", "regression"]


@contextmanager
def scoped_randomness(seed: int) -> Iterator[None]:
    """Third-party layers draw from torch's global generator: lend it a state, and give it back as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(torch.Generator().manual_seed(seed).get_state())
        yield


SMALL = 100_000  # below about this many elements a second thread brought nothing, and on a busy machine cost a lot


@contextmanager
def fitting_threads(elements: int) -> Iterator[None]:
    """One thread for work on few elements: a second one would mostly wait, badly so on a busy machine.

    Args:
        elements: inputs and parameters of one step, over all clients or observations.
    """
    before = torch.get_num_threads()
    if elements < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What of ``torch.func`` a module can take; ours take all of it, others are tried (``models/trial.py``).

    Args:
        loops: why ``vmap`` cannot take it, so that clients and restarts are computed one by one; empty if it can.
        flat: why its gradient cannot be differentiated again, so that nobody can match gradients; empty if it can.
        plain_attention: torch's fused attention has no second derivative: take the one in plain operations.
        coarse: why it cannot be computed in float64, which algebra needs; empty if it can.
        mixes: a row's outputs depend on the other rows of its batch, so a batch's gradient is no mean of its rows'.
        copies: it writes to the rows that it is given: give it a copy.
    """

    loops: str = ""
    flat: str = ""
    coarse: str = ""
    mixes: bool = False
    plain_attention: bool = False
    copies: bool = False


EVERYTHING = Abilities()


@dataclass(frozen=True, eq=False)
class Learner:
    """An architecture with its loss. It holds no data and no trained parameters.

    Without ``batch_statistics`` BatchNorm uses its stored statistics and never updates them: private batch statistics
    are neither used nor shared (the profiling study, section 3.5). With them it is in training mode, as most clients
    have it: rows of a batch are mixed, and the running statistics are sent with the weights. Dropout is active only
    with ``noisy=True``, which is the client's own business.

    Args:
        module: the network; its own parameters are only the starting point.
        task: decides the loss: binary cross-entropy on one logit (or cross-entropy on two), cross-entropy, or MSE.
        positive_weight: weight of the positive class in the binary loss.
        abilities: what of ``torch.func`` the module can take.
        batch_statistics: BatchNorm is in training mode.
        entry: what is done to rows before the module takes them.
        criterion: a mean loss from outputs and targets that takes the place of the task's.
    """

    module: nn.Module
    task: LearningTask
    positive_weight: float = 1.0
    abilities: Abilities = EVERYTHING
    batch_statistics: bool = False
    entry: Way | None = None
    criterion: Callable[[Tensor, Tensor], Tensor] | None = None
    _noisy: nn.Module = field(init=False, repr=False)
    _initial: Parameters = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.positive_weight <= 0:
            raise InputError(f"The positive-class weight is {self.positive_weight}; it must be above 0.")
        self.module.eval().requires_grad_(False)
        if self.batch_statistics:
            with_batch_statistics(self.module)
        noisy = copy.deepcopy(self.module).train()
        for layer in noisy.modules():
            if isinstance(layer, _BatchNorm):
                layer.eval()
        object.__setattr__(self, "_noisy", noisy)
        # Copied now: functional_call does not always put tied parameters (TabNet's shared layers) back as they were.
        initial = {name: value.detach().clone() for name, value in self.module.named_parameters()}
        object.__setattr__(self, "_initial", initial)

    @property
    def has_noise(self) -> bool:
        """Whether the client's forward pass differs from the attacker's (dropout, a bottleneck that draws)."""
        return any(
            isinstance(layer, Bottleneck) or (isinstance(layer, nn.Dropout) and layer.p > 0)
            for layer in self.module.modules()
        )

    @property
    def noisy_module(self) -> nn.Module:
        """The network as the client runs it, with dropout."""
        return self._noisy

    @property
    def vectorised(self) -> bool:
        """Whether many clients or restarts are computed in one call, and not in a loop."""
        return not self.abilities.loops

    def mapped(
        self, function: Callable[..., Any], in_dims: Axes = 0, *, randomness: str = "error", chunk: int | None = None
    ) -> Callable[..., Any]:
        """A function of this model for arguments with a leading axis: by ``vmap``, or by a loop if it cannot be."""
        if self.vectorised:
            return vmap(function, in_dims, randomness=randomness, chunk_size=chunk)
        return one_by_one(function, in_dims)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(value.numel() for value in self._initial.values())

    def to(self, device: str) -> Learner:
        """The same learner on another device."""
        if device == "cpu":
            return self
        return replace(self, module=copy.deepcopy(self.module).to(device))

    def double(self) -> Learner:
        """The same learner in float64, for algebra."""
        return replace(self, module=copy.deepcopy(self.module).double())

    def initial(self) -> Parameters:
        """A copy of the starting parameters."""
        return {name: value.clone() for name, value in self._initial.items()}

    def buffers(self) -> Parameters:
        """Running statistics as they are at the start, where they are sent with the weights; else nothing."""
        if not self.batch_statistics:
            return {}
        state = self.module.state_dict()
        return {name: state[name].clone() for name in momenta(self.module)}

    def moved(self, buffers: Parameters, seen: Parameters) -> Parameters:
        """Running statistics after a batch with these statistics."""
        share = momenta(self.module)
        return {name: (1 - share[name]) * value + share[name] * seen[name] for name, value in buffers.items()}

    def scoring(self) -> Learner:
        """The same model as it is used, not trained: BatchNorm with the running statistics."""
        if not self.batch_statistics:
            return self
        module = copy.deepcopy(self.module)
        return replace(self, module=with_stored_statistics(module), batch_statistics=False)

    def outputs(self, parameters: Parameters, x: Tensor, *, noisy: bool = False) -> Tensor:
        """(rows, outputs) raw outputs for (rows, width) inputs."""
        abilities = self.abilities
        plainly = sdpa_kernel(SDPBackend.MATH) if abilities.plain_attention else nullcontext()
        module = self._noisy if noisy else self.module
        given = (x,) if self.entry is None else self.entry(x)
        given = tuple(each.clone() for each in given) if abilities.copies else given
        with plainly, nullcontext() if self.entry is None else self.entry.lending(module, x):
            result: Tensor = functional_call(module, parameters, given)
        return result

    def loss(self, parameters: Parameters, x: Tensor, y: Tensor, *, noisy: bool = False) -> Tensor:
        """The mean loss of a batch."""
        return self.loss_of_outputs(self.outputs(parameters, x, noisy=noisy), y)

    def loss_of_outputs(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean loss, given the raw outputs. Labels are codes, numbers, or probabilities of the classes."""
        if self.criterion is not None:
            return self.criterion(outputs, y.to(outputs.dtype) if self.task == "regression" else y)
        if self.task == "regression":
            return functional.mse_loss(outputs[:, 0], y.to(outputs.dtype))
        if outputs.shape[-1] == 1:
            # Binary cross-entropy with logits, written with softplus: the same numbers from fewer operations.
            logit, y = outputs[:, 0], y.to(outputs.dtype)
            if self.positive_weight == 1:
                return (functional.softplus(logit) - y * logit).mean()
            weight = 1 + (self.positive_weight - 1) * y
            return ((1 - y) * logit + weight * functional.softplus(-logit)).mean()
        weights = None
        if self.task == "binary" and self.positive_weight != 1:
            weights = outputs.new_tensor([1.0, self.positive_weight])
        return functional.cross_entropy(outputs, y if y.dim() == outputs.dim() else y.long(), weight=weights)

    def gradient(self, parameters: Parameters, x: Tensor, y: Tensor, *, noisy: bool = False) -> Parameters:
        """The gradient of the batch's mean loss: what a FedSGD client sends."""
        result: Parameters = grad(self.loss)(parameters, x, y, noisy=noisy)
        return result

    def gradient_and_statistics(
        self, parameters: Parameters, x: Tensor, y: Tensor, *, noisy: bool = False
    ) -> tuple[Parameters, Parameters]:
        """The gradient, and what the BatchNorm layers saw; nothing where they use stored statistics."""
        if not self.batch_statistics:
            return self.gradient(parameters, x, y, noisy=noisy), {}

        def loss(parameters: Parameters) -> tuple[Tensor, Parameters]:
            value = self.loss(parameters, x, y, noisy=noisy)
            return value, seen_statistics(self._noisy if noisy else self.module)

        result: tuple[Parameters, Parameters] = grad(loss, has_aux=True)(parameters)
        return result

    def gradients(self, parameters: Parameters, x: Tensor, y: Tensor, *, noisy: bool = False) -> Parameters:
        """Gradients of many clients at once: (clients, rows, width) inputs, every result with a leading client axis."""

        def one(x: Tensor, y: Tensor) -> Parameters:
            return self.gradient(parameters, x, y, noisy=noisy)

        result: Parameters = self.mapped(one, randomness="different")(x, y)
        return result

    def local_steps(
        self, parameters: Parameters, x: Tensor, y: Tensor, rate: float | Tensor, *, noisy: bool = False
    ) -> Parameters:
        """One SGD step of many clients, each with its own parameters: everything has a leading client axis."""

        def one(parameters: Parameters, x: Tensor, y: Tensor) -> Parameters:
            slope = self.gradient(parameters, x, y, noisy=noisy)
            return {name: value - rate * slope[name] for name, value in parameters.items()}

        result: Parameters = self.mapped(one, randomness="different")(parameters, x, y)
        return result


def over_runs(
    one: Callable[..., Any],
    inputs: Tensor,
    parameters: Parameters,
    labels: Tensor,
    *,
    learner: Learner,
    shared: bool,
) -> Any:
    """A function of one run for all: inputs (obs, runs, ...), labels (obs, ...) or (obs, runs, ...)."""
    mapped = learner.mapped
    count, runs = inputs.shape[:2]
    labels = labels[:, None].expand(count, runs, *labels.shape[1:]) if labels.dim() < inputs.dim() - 1 else labels
    if shared or runs == 1:  # one axis is fewer operations than two
        flat = (inputs.flatten(0, 1), parameters, labels.flatten(0, 1))
        result = mapped(one, in_dims=(0, None if shared else 0, 0))(*flat)
        return unflattened(result, (count, runs))
    return mapped(mapped(one, in_dims=(0, None, 0)), in_dims=(0, 0, 0))(inputs, parameters, labels)


def unflattened(tree: Any, shape: tuple[int, int]) -> Any:
    """Nested tensors whose first axis becomes two."""
    if isinstance(tree, Tensor):
        return tree.reshape(*shape, *tree.shape[1:])
    if isinstance(tree, dict):
        return {name: unflattened(value, shape) for name, value in tree.items()}
    return tuple(unflattened(value, shape) for value in tree)


def pullback(function: Callable[..., Any], *points: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The function's value, and the map from slopes by its results to slopes by its arguments."""
    pair: Any = vjp(function, *points)
    return pair[0], pair[1]
