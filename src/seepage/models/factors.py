r"""The gradient of a batch in factors: what its linear layers took in, and how the loss reacts to what they gave out.

The gradient of a linear layer is :math:`\delta^\top h` with the inputs :math:`h` (rows, in) and the slopes
:math:`\delta` (rows, out) of the loss by the outputs. For a small batch the factors are far smaller than the product:
an attacker who only needs inner products of gradients never has to multiply them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import grad

from seepage.models.functional import Learner, Parameters

Calls = dict[str, list[int]]  # a linear layer's name -> of each of its calls, its rows per row of the batch
Factors = dict[str, tuple[Tensor, Tensor]]  # a linear layer's name -> slopes (rows, out), inputs (rows, in)


def parameter_name(layer: str, kind: str) -> str:
    """The full name of a layer's parameter; the layer may be the whole model."""
    return f"{layer}.{kind}" if layer else kind


def factored_gradient(
    learner: Learner,
    calls: Calls,
    parameters: Parameters,
    x: Tensor,
    y: Tensor,
    *,
    of: Callable[[Parameters], Tensor] | None = None,
    noisy: bool = False,
) -> tuple[Factors, Parameters]:
    """The gradient of the batch's mean loss, in factors where a linear layer allows it and as tensors elsewhere.

    Args:
        calls: from :func:`linear_calls`.
        of: another loss of these rows, by the parameters.
        noisy: with dropout.
    """
    layers: dict[str, Any] = {name: learner.module.get_submodule(name) for name in calls}
    offsets = {
        name: [x.new_zeros(x.shape[0] * tokens, layers[name].out_features) for tokens in each]
        for name, each in calls.items()
    }
    owned = {parameter_name(name, kind) for name in calls for kind in ("weight", "bias")}
    trained = learner.initial().keys()  # running statistics have no slopes
    rest = {name: value for name, value in parameters.items() if name not in owned and name in trained}
    fixed = {name: value for name, value in parameters.items() if name not in rest}

    def loss(offsets: dict[str, list[Tensor]], rest: Parameters) -> tuple[Tensor, dict[str, list[Tensor]]]:
        with _listening(learner.noisy_module if noisy else learner.module, offsets) as heard:
            value = learner.loss(fixed | rest, x, y, noisy=noisy) if of is None else of(fixed | rest)
        return value, heard

    (slopes, dense), heard = grad(loss, argnums=(0, 1), has_aux=True)(offsets, rest)
    factors = {name: (torch.cat(slopes[name]), torch.cat(heard[name])) if len(slopes[name]) > 1
               else (slopes[name][0], heard[name][0]) for name in calls}  # fmt: skip
    return factors, dense


def layer_slopes(
    learner: Learner, layer: str, parameters: Parameters, x: Tensor, y: Tensor, outputs: Tensor | None = None
) -> Tensor:
    """(rows, out) how the outputs of a linear layer that is called once a row move each row's own loss, and no more.

    Args:
        outputs: (rows, out) of the layer, if they are known: it is not computed again.
    """
    known = layer_outputs(learner, layer, parameters, x) if outputs is None else outputs

    def loss(outputs: Tensor) -> Tensor:
        with _standing_in(learner.module.get_submodule(layer), outputs):
            return learner.loss(parameters, x, y)

    slopes: Tensor = grad(loss)(known)
    return len(x) * slopes.flatten(1)


def layer_outputs(learner: Learner, layer: str, parameters: Parameters, x: Tensor) -> Tensor:
    """(rows, out) what a linear layer that is called once a row gives out."""
    (inputs,) = layer_inputs(learner, [layer], parameters, x)
    weight, bias = (parameters.get(parameter_name(layer, kind)) for kind in ("weight", "bias"))
    assert weight is not None
    return nn.functional.linear(inputs, weight, bias)


class _Heard(Exception):  # no error: the way out of a model whose rest is not needed
    """Everything that was asked for has been heard."""


def layer_inputs(
    learner: Learner, names: Sequence[str], parameters: Parameters, x: Tensor, *, noisy: bool = False
) -> list[Tensor]:
    """What the linear layers of these names take in, (rows, in) each. Every layer must be called once a row.

    The model is left as soon as the last of them is reached.
    """
    heard: dict[str, Tensor] = {}
    handles = []
    module = learner.noisy_module if noisy else learner.module
    for name in names:

        def hook(_: nn.Module, inputs: tuple[Tensor], name: str = name) -> None:
            heard[name] = inputs[0]
            if len(heard) == len(names):
                raise _Heard

        handles.append(module.get_submodule(name).register_forward_pre_hook(hook))
    try:
        learner.outputs(parameters, x, noisy=noisy)
    except _Heard:
        pass
    finally:
        for handle in handles:
            handle.remove()
    return [heard[name] for name in names]


@lru_cache(maxsize=32)
def linear_calls(learner: Learner, width: int) -> Calls:
    """The linear layers whose gradient comes in factors, and the rows per row of the batch of each of their calls.

    A layer counts if its parameters are its own and if all that happens to them is the layer's call. The second is
    tried out: the factors must give the same gradient as autograd.
    """
    module = learner.module
    owners: dict[int, int] = {}
    for layer in module.modules():
        for value in layer.parameters(recurse=False):
            owners[id(value)] = owners.get(id(value), 0) + 1
    candidates = {
        name: layer
        for name, layer in module.named_modules()
        if isinstance(layer, nn.Linear) and all(owners[id(value)] == 1 for value in layer.parameters())
    }
    heard: dict[str, list[int]] = {name: [] for name in candidates}
    handles = []
    for name, layer in candidates.items():

        def hook(_: nn.Module, inputs: tuple[Tensor], __: Tensor, name: str = name) -> None:
            heard[name].append(inputs[0].numel() // inputs[0].shape[-1] // 2)

        handles.append(layer.register_forward_hook(hook))
    generator = torch.Generator().manual_seed(0)
    parameters = learner.initial()
    x = torch.randn(2, width, generator=generator, dtype=next(iter(parameters.values())).dtype)
    try:
        outputs = learner.outputs(parameters, x)
    finally:
        for handle in handles:
            handle.remove()
    calls = {name: each for name, each in heard.items() if each}
    y = torch.zeros(2, dtype=torch.float32 if learner.task == "regression" else torch.int64)
    assert outputs.shape[0] == 2
    return {name: each for name, each in calls.items() if _agrees(learner, name, each, parameters, x, y)}


def activations(learner: Learner, width: int) -> int:
    """Numbers that go in and out of the linear layers for every row: what a step has to hold, about."""
    layers: dict[str, Any] = dict(learner.module.named_modules())
    calls = linear_calls(learner, width)
    inside = [sum(each) * (layers[name].in_features + layers[name].out_features) for name, each in calls.items()]
    return width + int(sum(inside))


@lru_cache(maxsize=32)
def has_input_path(learner: Learner, width: int) -> bool:
    """Whether the outputs react to the inputs, as far as differentiation sees."""
    x = torch.randn(8, width, generator=torch.Generator().manual_seed(1))
    parameters = learner.initial()
    slope = grad(lambda x: learner.outputs(parameters, x).square().sum())(x)
    return bool((slope != 0).any())


def _agrees(learner: Learner, name: str, each: list[int], parameters: Parameters, x: Tensor, y: Tensor) -> bool:
    whole = learner.gradient(parameters, x, y)[parameter_name(name, "weight")]
    layer: Any = learner.module.get_submodule(name)
    offsets = {name: [x.new_zeros(2 * tokens, layer.out_features) for tokens in each]}

    def loss(offsets: dict[str, list[Tensor]]) -> tuple[Tensor, dict[str, list[Tensor]]]:
        with _listening(learner.module, offsets) as heard:
            return learner.loss(parameters, x, y), heard

    slopes, heard = grad(loss, has_aux=True)(offsets)
    product = torch.cat(slopes[name]).T @ torch.cat(heard[name])
    return bool(torch.allclose(product, whole, rtol=1e-4, atol=1e-6 * float(whole.abs().max() + 1e-30)))


@contextmanager
def _listening(module: nn.Module, offsets: dict[str, list[Tensor]]) -> Iterator[dict[str, list[Tensor]]]:
    """While this lasts, layers write down their inputs, and their outputs are shifted (by zeros, to differentiate)."""
    heard: dict[str, list[Tensor]] = {name: [] for name in offsets}
    handles = []
    for name in offsets:

        def hook(_: nn.Module, inputs: tuple[Tensor], output: Tensor, name: str = name) -> Tensor:
            shift = offsets[name][len(heard[name])]
            heard[name].append(inputs[0].reshape(-1, inputs[0].shape[-1]))
            return output + shift.reshape(output.shape)

        handles.append(module.get_submodule(name).register_forward_hook(hook))
    try:
        yield heard
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _standing_in(layer: nn.Module, outputs: Tensor) -> Iterator[None]:
    """While this lasts, a layer gives these outputs, whatever it takes in."""
    layer.forward = lambda *_: outputs
    try:
        yield
    finally:
        del layer.forward
