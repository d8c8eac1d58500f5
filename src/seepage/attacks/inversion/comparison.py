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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad

from seepage.attacks.inversion.objectives import Received
from seepage.models import Factors, Parameters, parameter_name

SHORT = 8192  # sums of up to this many numbers are made in float64
FLAT = 4 * SHORT  # layers of up to this many numbers together are compared as one
Pulled = tuple[Factors, Parameters]


@dataclass(frozen=True)
class Compared:
    """One layer, or several as one: its two numbers (observations, restarts), and the way back.

    ``pull`` takes slopes of anything by the two numbers (obs, runs, 1, 1) to slopes by the factors and tensors; None
    stands for a slope of 1 by the first.
    """

    dot: Tensor
    square: Tensor
    pull: Callable[[Tensor | None, Tensor], Pulled]


def layers_of(names: Iterable[str]) -> dict[str, list[str]]:
    """Parameters by layer: weight and bias of one module are one layer."""
    layers: dict[str, list[str]] = {}
    for name in names:
        layers.setdefault(name.rpartition(".")[0], []).append(name)
    return layers


def compare(factors: Factors, dense: Parameters, observed: Parameters, *, layered: bool) -> list[Compared]:
    """An update against the observed one: layer by layer, or (not ``layered``) with the small layers as one.

    Args:
        factors, dense: the simulated update, (obs, runs, ...).
        observed: (obs, ...).
    """
    compared, small = [], []
    for layer, parts in layers_of(observed).items():
        if layer in factors and _worth_rows(factors[layer][0], observed[parameter_name(layer, "weight")]):
            compared.append(_by_rows(layer, *factors[layer], observed))
        else:
            small.append((layer, parts))
    together = sum(observed[part][0].numel() for _, parts in small for part in parts) <= FLAT
    groups = [small] if small and together and not layered else [[one] for one in small]
    compared += [_by_tensors(group, factors, dense, observed) for group in groups]
    if not layered:
        return compared
    order = list(layers_of(observed))
    whole = [layer for layer in order if not any(layer == name for name, _ in small)] + [name for name, _ in small]
    return [compared[whole.index(layer)] for layer in order]


def _worth_rows(slopes: Tensor, weight: Tensor) -> bool:
    """Whether inner products of rows are less work than the product, and the layer is not small anyway."""
    size, rows = weight[0].numel(), slopes.shape[2]
    return size > SHORT and rows * (weight.shape[-1] + weight.shape[-2]) <= size


def _by_rows(layer: str, slopes: Tensor, inputs: Tensor, observed: Parameters) -> Compared:
    """By inner products of rows. Float error is about 1e-7 of the two numbers, and not the same in both."""
    weight, bias = observed[parameter_name(layer, "weight")], observed.get(parameter_name(layer, "bias"))
    rightward = _times(slopes, weight)
    dot = total(rightward * inputs)
    ours, theirs = inputs @ inputs.transpose(-1, -2), slopes @ slopes.transpose(-1, -2)
    if bias is not None:
        dot = dot + flat_total(slopes.sum(-2) * bias[:, None])
        ours = ours + 1  # the bias is a weight of an input that is always 1

    def pull(by_dot: Tensor | None, by_square: Tensor) -> Pulled:
        back = _times(inputs, weight.transpose(-1, -2))
        back = back + bias[:, None, None] if bias is not None else back
        twice = 2 * by_square
        back, right = (back, rightward) if by_dot is None else (by_dot * back, by_dot * rightward)
        slope = back + (twice * ours) @ slopes, right + (twice * theirs) @ inputs
        return {layer: slope}, {}

    return Compared(dot, total(ours * theirs), pull)


def _by_tensors(
    group: Sequence[tuple[str, list[str]]], factors: Factors, dense: Parameters, observed: Parameters
) -> Compared:
    """Multiplied out: the same float error in both numbers, so that 1 - cosine is good to its last digits."""
    simulated = _multiplied(group, factors, dense)
    names = [part for _, parts in group for part in parts]
    sizes = [observed[name][0].numel() for name in names]
    ours = [simulated[name].flatten(2) for name in names]
    theirs = [observed[name].flatten(1)[:, None] for name in names]
    if len(names) > 1 and sum(sizes) <= FLAT:  # few numbers in one tensor are fewer operations; many, a needless copy
        ours, theirs = [torch.cat(ours, -1)], [torch.cat(theirs, -1)]

    def pull(by_dot: Tensor | None, by_square: Tensor) -> Pulled:
        twice = 2 * by_square[..., 0]
        along = theirs if by_dot is None else [by_dot[..., 0] * v for v in theirs]
        parts: Sequence[Tensor] = [torch.addcmul(v, u, twice) for u, v in zip(ours, along, strict=True)]
        parts = torch.split(parts[0], sizes, -1) if len(parts) < len(names) else parts
        by_name = {name: part.reshape(simulated[name].shape) for name, part in zip(names, parts, strict=True)}
        return _through_factors(group, factors, by_name)

    dots = [flat_total(u * v) for u, v in zip(ours, theirs, strict=True)]
    squares = [flat_total(u * u) for u in ours]
    return Compared(_added(dots), _added(squares), pull)


def compare_entries(
    objective: Received, factors: Factors, dense: Parameters, observed: Parameters
) -> tuple[Tensor, Factors, Parameters]:
    """Losses of an objective that looks at every entry, and their slopes by the parts of the simulated update."""
    group = list(layers_of(observed).items())

    def total_loss(simulated: Parameters) -> tuple[Tensor, Tensor]:
        losses = objective(simulated, observed)
        return losses.sum(), losses

    slopes, losses = grad(total_loss, has_aux=True)(_multiplied(group, factors, dense))
    return losses, *_through_factors(group, factors, dict(slopes))


def _multiplied(group: Sequence[tuple[str, list[str]]], factors: Factors, dense: Parameters) -> Parameters:
    """The simulated update, entry by entry."""
    simulated = dict(dense)
    for layer, parts in group:
        if layer in factors:
            slopes, inputs = factors[layer]
            made = {"weight": slopes.transpose(-1, -2) @ inputs, "bias": slopes.sum(-2)}
            simulated |= {part: made[part.rpartition(".")[2]] for part in parts}
    return simulated


def _through_factors(group: Sequence[tuple[str, list[str]]], factors: Factors, by_name: Parameters) -> Pulled:
    """Slopes by the entries of an update to slopes by its factors; tensors without factors stay as they are."""
    pulled: Factors = {}
    for layer, owned in group:
        if layer in factors:
            slopes, inputs = factors[layer]
            direction = by_name.pop(parameter_name(layer, "weight"))
            back = inputs @ direction.transpose(-1, -2)
            if len(owned) > 1:
                back = back + by_name.pop(parameter_name(layer, "bias"))[:, :, None]
            pulled[layer] = back, slopes @ direction
    return pulled, by_name


def _added(parts: list[Tensor]) -> Tensor:
    return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def total(values: Tensor) -> Tensor:
    """The sum over the last two axes: lines in float32, then lines added in float64.

    Near the end 1 - cosine is close to float32's resolution; a copy of everything in double precision would cost more
    than the sum.
    """
    return values.sum(-1).sum(-1, dtype=torch.float64)


def flat_total(values: Tensor) -> Tensor:
    """The sum over the last axis: of few numbers in float64, as the profiling study does, of many in float32."""
    if values.shape[-1] <= SHORT:
        return values.sum(-1, dtype=torch.float64)
    return values.sum(-1).double()


def _times(rows: Tensor, matrix: Tensor) -> Tensor:
    """(obs, runs, rows, a) x (obs, a, b): one product for all runs of an observation."""
    observations, runs, count = rows.shape[:3]
    return (rows.reshape(observations, runs * count, -1) @ matrix).reshape(observations, runs, count, -1)
