r"""BatchNorm in training mode, undone.

Behind a normalised layer the slopes of a neuron add up to zero over the batch, so the layer's gradient holds
differences of rows only, and one dimension of their span is missing. The running statistics bring it back. They tell
the batch's mean and variance of what the layer gave out, :math:`\mu = W \bar v + b`, and from that the mean
:math:`\bar v` of what it took in: up to the span of differences, which is known anyway. The mean is put into the
gradient as one more record. With the batch's mean and variance as stored statistics, each row passes the model by
itself, as it did among the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from seepage._core import NotApplicable
from seepage.data import Layout
from seepage.models import Learner, Parameters, parameter_name
from seepage.models.batch_norm import momenta, normalised_layers
from seepage.observation import Observation

NOT_SENT = (
    "BatchNorm in training mode mixes the rows of a batch, and its running statistics, which would tell their mean, "
    "were not sent."
)
MANY_STEPS = (
    "BatchNorm in training mode mixes the rows of a batch, and the running statistics are those of several steps."
)
ROUNDING = 6e-8  # of a number in float32
FORWARD = 2e-7  # of what a layer gives out, as a share of its usual size
WHOLE = 0.05  # a count that is nearer than this to a whole number is one
SURE = 1e-9  # a column of the gradient that is smaller than this share of the largest holds no difference


@lru_cache(maxsize=16)
def scoring_of(learner: Learner) -> Learner:
    """The model with stored statistics: rows pass it one by one."""
    return learner.scoring()


def statistics_of(observation: Observation) -> Parameters:
    """The batch's own mean and variance at every BatchNorm layer, by the names of the running ones, in float64.

    Raises:
        NotApplicable: they were not sent, or are those of several batches.
    """
    exchange = observation.exchange
    if not observation.moved:
        raise NotApplicable(NOT_SENT)
    if exchange.protocol == "fedavg" and exchange.steps > 1:
        raise NotApplicable(MANY_STEPS)
    found = {}
    for name, share in momenta(observation.learner.module).items():
        found[name] = observation.buffers[name].double() + observation.moved[name].double() / share
        if name.endswith("running_var"):  # BatchNorm divides by the variance with all rows in the divisor
            found[name] = found[name] * (exchange.rows - 1) / max(exchange.rows, 1)
    return found


def scale_error(observation: Observation, statistics: Parameters) -> float:
    """The usual relative error of a normalised output: running variances are rounded before a batch's is taken out."""
    every = [FORWARD]
    for name, share in momenta(observation.learner.module).items():
        if name.endswith("running_var"):
            rounding = ROUNDING * (observation.buffers[name].double() / share + statistics[name])
            every.append(float((rounding / (2 * statistics[name].clamp(min=1e-12))).clamp(max=1.0).median()))
    return max(every)


def with_means(observation: Observation, gradient: Parameters, statistics: Parameters) -> Parameters:
    """The gradient with the mean of what each normalised layer took in as one more record."""
    whole = dict(gradient)
    learner, layout = scoring_of(observation.learner), observation.layout
    for layer, norm in _followed(learner, layout.width).items():
        weight_name, bias_name = parameter_name(layer, "weight"), parameter_name(layer, "bias")
        weight = observation.parameters[weight_name].double()
        bias = observation.parameters[bias_name].double() if bias_name in observation.parameters else None
        told = statistics[f"{norm}.running_mean"]
        differences = gradient[weight_name]
        spare = _spare_direction(differences, observation.exchange.rows)
        if spare is None:
            continue
        entrance = weight.shape[1] == layout.width and layer == _first(learner, layout.width)
        kept = float(observation.buffers[f"{norm}.running_mean"].abs().max())
        spread = float((told.square() + statistics[f"{norm}.running_var"]).mean().sqrt())
        rough = FORWARD * spread + ROUNDING * kept / momenta(observation.learner.module)[f"{norm}.running_mean"]
        own = told - bias if bias is not None else told
        mean, error = _mean(weight, own, differences, layout if entrance else None, rough)
        if entrance:
            mean, error = _with_whole_counts(weight, own, mean, error, layout, observation.exchange.rows, rough)
        # As strong as lets its error be that of the other entries.
        usual = float(differences.square().mean().sqrt())
        strength = usual * min(ROUNDING / max(error, 1e-30), 1.0) * len(spare) ** 0.5
        whole[weight_name] = differences + strength * spare[:, None] * mean
        if bias is not None:
            whole[bias_name] = gradient[bias_name] + strength * spare  # slopes add up to zero but for rounding
    return whole


def _spare_direction(differences: Tensor, rows: int) -> Tensor | None:
    """(outputs,) a direction in which no record pulls; None where the records use all of them."""
    left, _, _ = torch.linalg.svd(differences, full_matrices=True)
    free = left[:, min(rows - 1, differences.shape[1]) :]
    if not free.shape[1]:
        return None
    mixed = free @ torch.randn(free.shape[1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    unit: Tensor = mixed / mixed.norm()
    return unit


def _mean(
    weight: Tensor, told: Tensor, differences: Tensor, layout: Layout | None, rough: float
) -> tuple[Tensor, float]:
    """(inputs,) what a layer took in on average, up to the span of differences; and its error outside of that.

    Where rows enter, a category without any difference in a column that has some is nobody's, and each column's shares
    add up to 1.

    Args:
        rough: the error of what is told.
    """
    inputs = weight.shape[1]
    free = torch.ones(inputs, dtype=torch.bool)
    equations, right = [weight], [told]
    if layout is not None:
        size = differences.norm(dim=0)
        for block in layout.blocks:
            moving = size[block] > SURE * size.max()
            if bool(moving.any()):
                free[block] = moving
            total = torch.zeros(1, inputs, dtype=torch.float64)
            total[0, block] = 1.0
            equations.append(total * float(weight.norm(dim=0).mean()))
            right.append(torch.full((1,), float(weight.norm(dim=0).mean()), dtype=torch.float64))
    matrix, values = torch.cat(equations), torch.cat(right)
    left, sizes, right_side = torch.linalg.svd(matrix[:, free], full_matrices=False)
    sure = sizes > 1e-10 * sizes[0]
    back = right_side[sure].T / sizes[sure]
    mean = torch.zeros(inputs, dtype=torch.float64)
    mean[free] = back @ (left[:, sure].T @ values)
    # Within the span of differences an error does no harm.
    _, strengths, along = torch.linalg.svd(differences[:, free], full_matrices=False)
    along = along[strengths > 1e-5 * strengths[0]]
    outside = back - along.T @ (along @ back)
    return mean, rough * float(outside.norm()) / int(free.sum()) ** 0.5


def _with_whole_counts(
    weight: Tensor, told: Tensor, mean: Tensor, error: float, layout: Layout, rows: int, rough: float
) -> tuple[Tensor, float]:
    """The same mean, where its categories are whole counts of so many rows: then only numbers are left to be solved."""
    numeric = layout.numeric
    counts = mean[numeric:] * rows
    whole = counts.round()
    if float((counts - whole).abs().max()) > WHOLE or not numeric:
        return mean, error
    shares = whole / rows
    solved = torch.linalg.lstsq(weight[:, :numeric], (told - weight[:, numeric:] @ shares)[:, None]).solution[:, 0]
    return torch.cat([solved, shares]), rough * float(torch.linalg.pinv(weight[:, :numeric]).norm()) / len(mean) ** 0.5


@lru_cache(maxsize=16)
def _first(learner: Learner, width: int) -> str:
    return next(iter(_followed(learner, width)), "")


@lru_cache(maxsize=16)
def _followed(learner: Learner, width: int) -> dict[str, str]:
    """Linear layers whose outputs go into a BatchNorm layer as they are, and the name of that."""
    given: dict[int, str] = {}
    found: dict[str, str] = {}
    kept: list[Any] = []
    norms = normalised_layers(learner.module)
    handles = []
    for name, layer in learner.module.named_modules():
        if isinstance(layer, nn.Linear):

            def gave(_: nn.Module, __: Any, output: Tensor, name: str = name) -> None:
                given[id(output)] = name
                kept.append(output)  # or its id may be another's soon

            handles.append(layer.register_forward_hook(gave))
        elif name in norms:

            def took(_: nn.Module, inputs: tuple[Tensor], name: str = name) -> None:
                if id(inputs[0]) in given:
                    found[given[id(inputs[0])]] = name

            handles.append(layer.register_forward_pre_hook(took))
    try:
        learner.outputs(learner.initial(), torch.zeros(2, width))
    finally:
        for handle in handles:
            handle.remove()
    return found
