r"""Inner products of simulated and observed updates, layer by layer, and the way back.

Every objective is a function of two numbers per layer: :math:`\langle \hat u_l, u_l\rangle` and :math:`|\hat u_l|^2`.
For a linear layer with slopes :math:`\delta` and inputs :math:`h` both come without the product
:math:`\hat u_l = \delta^\top h`:

.. math:: \langle \hat u_l, u_l\rangle = \sum (\delta u_l) \odot h, \qquad
          |\hat u_l|^2 = \sum (h h^\top) \odot (\delta \delta^\top),

which for 32 rows of a 100 x 105 layer are 1,024 numbers instead of 10,500. Where the batch is large against the layer,
or the layer is small anyway, the product is formed. All tensors have leading axes (observations, restarts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.models import Factors, Parameters, parameter_name

SHORT = 8192  # sums of up to this many numbers are made in float64
Pull = Callable[[Tensor, Tensor], tuple[Tensor, ...]]


@dataclass(frozen=True)
class Compared:
    """One layer: its two numbers (observations, restarts), and slopes of any function of them by its parts."""

    dot: Tensor
    square: Tensor
    pull: Pull


def layers_of(names: Mapping[str, object]) -> dict[str, list[str]]:
    """Parameters by layer: weight and bias of one module are one layer."""
    layers: dict[str, list[str]] = {}
    for name in names:
        layers.setdefault(name.rpartition(".")[0], []).append(name)
    return layers


def compare_factors(slopes: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Compared:
    """A linear layer in factors: (obs, runs, rows, out), (obs, runs, rows, in) against (obs, out, in), (obs, out)."""
    size, rows = weight[0].numel(), slopes.shape[2]
    if size > SHORT and rows * (weight.shape[-1] + weight.shape[-2]) <= size:
        return _by_rows(slopes, inputs, weight, bias)
    return _by_product(slopes, inputs, weight, bias)


def _by_rows(slopes: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Compared:
    """By inner products of rows. Float error is about 1e-7 of the two numbers, and not the same in both."""
    rightward = _times(slopes, weight)
    dot = total(rightward * inputs)
    ours, theirs = inputs @ inputs.transpose(-1, -2), slopes @ slopes.transpose(-1, -2)
    if bias is not None:
        dot = dot + flat_total(slopes.sum(-2) * bias[:, None])
        ours = ours + 1  # the bias is a weight of an input that is always 1

    def pull(by_dot: Tensor, by_square: Tensor) -> tuple[Tensor, ...]:
        back = _times(inputs, weight.transpose(-1, -2))
        back = back + bias[:, None, None] if bias is not None else back
        twice = 2 * by_square
        return by_dot * back + (twice * ours) @ slopes, by_dot * rightward + (twice * theirs) @ inputs

    return Compared(dot, total(ours * theirs), pull)


def _by_product(slopes: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Compared:
    """By the product itself: the same float error in both numbers, so that 1 - cosine is good to its last digits."""
    product = slopes.transpose(-1, -2) @ inputs
    dot, square = flat_total((product * weight[:, None]).flatten(2)), flat_total((product * product).flatten(2))
    summed = slopes.sum(-2)
    if bias is not None:
        dot, square = dot + flat_total(summed * bias[:, None]), square + flat_total(summed * summed)

    def pull(by_dot: Tensor, by_square: Tensor) -> tuple[Tensor, ...]:
        direction = by_dot * weight[:, None] + (2 * by_square) * product
        back = inputs @ direction.transpose(-1, -2)
        if bias is not None:
            back = back + (by_dot[..., 0] * bias[:, None] + (2 * by_square[..., 0]) * summed)[:, :, None]
        return back, slopes @ direction

    return Compared(dot, square, pull)


def compare_tensors(simulated: list[Tensor], observed: list[Tensor]) -> Compared:
    """A layer as it is: (obs, runs, ...) against (obs, ...)."""
    flat = torch.cat([part.flatten(2) for part in simulated], -1) if len(simulated) > 1 else simulated[0].flatten(2)
    against = torch.cat([part.flatten(1) for part in observed], -1) if len(observed) > 1 else observed[0].flatten(1)

    def pull(by_dot: Tensor, by_square: Tensor) -> tuple[Tensor, ...]:
        slope = by_dot[..., 0] * against[:, None] + (2 * by_square[..., 0]) * flat
        parts = torch.split(slope, [part[0, 0].numel() for part in simulated], -1)
        return tuple(part.reshape(like.shape) for part, like in zip(parts, simulated, strict=True))

    return Compared(flat_total(flat * against[:, None]), flat_total(flat * flat), pull)


def compare(factors: Factors, dense: Parameters, observed: Parameters) -> tuple[list[str], list[Compared]]:
    """All layers of an update, in the model's order."""
    names, compared = [], []
    for layer, parts in layers_of(observed).items():
        names.append(layer)
        if layer in factors:
            compared.append(
                compare_factors(
                    *factors[layer],
                    observed[parameter_name(layer, "weight")],
                    observed.get(parameter_name(layer, "bias")),
                )
            )
        else:
            compared.append(compare_tensors([dense[part] for part in parts], [observed[part] for part in parts]))
    return names, compared


def pulled(
    names: list[str],
    compared: list[Compared],
    factors: Factors,
    observed: Parameters,
    by_dot: Tensor,
    by_square: Tensor,
) -> tuple[Factors, Parameters]:
    """Slopes by the factors and tensors, from those by the numbers (obs, runs, layers)."""
    slopes: Factors = {}
    dense: Parameters = {}
    layers = layers_of(observed)
    for index, (name, layer) in enumerate(zip(names, compared, strict=True)):
        parts = layer.pull(by_dot[..., index, None, None], by_square[..., index, None, None])
        if name in factors:
            slopes[name] = (parts[0], parts[1])
        else:
            dense |= dict(zip(layers[name], parts, strict=True))
    return slopes, dense


def total(values: Tensor) -> Tensor:
    """The sum over the last two axes: lines in float32, then lines added in float64.

    Near the end 1 - cosine is close to float32's resolution; a copy of everything in double precision would cost more
    than the sum.
    """
    return values.sum(-1).sum(-1, dtype=torch.float64)


def flat_total(values: Tensor) -> Tensor:
    """The sum over the last axis: of few numbers in float64, as document 002 does, of many in float32."""
    if values.shape[-1] <= SHORT:
        return values.sum(-1, dtype=torch.float64)
    return values.sum(-1).double()


def _times(rows: Tensor, matrix: Tensor) -> Tensor:
    """(obs, runs, rows, a) x (obs, a, b): one product for all runs of an observation."""
    observations, runs, count = rows.shape[:3]
    return (rows.reshape(observations, runs * count, -1) @ matrix).reshape(observations, runs, count, -1)
