r"""One row at a time: pull a guess onto the spans of all layers, without its batch mates and without labels.

The input :math:`h_l(x)` of every linear layer :math:`l` lies in that layer's span, and the attacker can compute it for
any row :math:`x`. So each row solves a problem of its own, and thousands of guesses are solved as one tensor.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from seepage.attacks.exact.slopes import Dense, Projected, Slopes
from seepage.attacks.exact.span import FORWARD, Span
from seepage.attacks.exact.view import View

FLOOR = 1e-5  # added to the squared distance before its logarithm is taken
STEPS, RATE = 300, 0.1
STEP = 1e-5  # of a difference
COARSE = 1e-2  # of a difference in float32
MIXTURES = 24  # random combinations of equations that a short look asks
PART = 1024  # rows of a short look that are computed together
ENTRIES = 2**27  # of all derivatives that are held at once: a gigabyte


def misses(view: View, x: Tensor) -> Tensor:
    """(rows, equations) how far every layer's input is from its span.

    Where deeper layers drift, the first layer is still exact: it weighs so much more that they only choose inside it.
    """
    parts = [
        weight * span.beyond(value)
        for weight, value, span in zip(_weights(view), view.inputs(x), view.spans, strict=True)
    ]
    return torch.cat(parts, 1)


def _weights(view: View) -> list[float]:
    """How much the equations of each layer count."""
    exact = 100.0 if not view.single else max(1.0, view.normalised / FORWARD)  # the first layer, beside rougher ones
    return [exact if layer.affine else 1.0 for layer in view.layers]


def pull(view: View, guesses: Tensor, steps: int = STEPS) -> tuple[Tensor, Tensor]:
    """Relaxed rows moved towards the spans by Adam on the logarithm of the distance; then categories are rounded.

    Args:
        guesses: (rows, width), numbers as inputs and blocks as shares.

    Returns:
        category codes and numbers.
    """
    numeric, sizes = view.numeric, list(view.space.layout.sizes)
    allowed = torch.cat([torch.ones(numeric, dtype=torch.bool), *view.allowed])
    low, high = view.low.float(), view.high.float()
    z = torch.cat([guesses[:, :numeric].clamp(low, high), guesses[:, numeric:].clamp(min=1e-4).log()], 1).float()
    z[:, ~allowed] = -1e4
    spans = [span.float() for span in view.spans]
    inputs_of = view.plain_inputs()
    tables = [table.float() for table in view.codes]
    first, second = torch.zeros_like(z), torch.zeros_like(z)
    for step in range(1, steps + 1):
        z.requires_grad_(True)
        with torch.enable_grad():
            blocks = torch.split(z[:, numeric:], sizes, -1) if sizes else ()
            mixed = [torch.softmax(block, -1) @ table for block, table in zip(blocks, tables, strict=True)]
            x = torch.cat([z[:, :numeric], *mixed], 1)
            inputs = inputs_of(x)
            far = sum(span.beyond(value).square().sum(1) for value, span in zip(inputs, spans, strict=True))
            assert isinstance(far, Tensor)
            (slope,) = torch.autograd.grad((far + FLOOR).log().sum(), z)
        z = z.detach()
        slope.mul_(allowed).nan_to_num_(0.0, 0.0, 0.0)
        first.mul_(0.9).add_(slope, alpha=0.1)
        second.mul_(0.999).addcmul_(slope, slope, value=0.001)
        rate = 1e-3 + (RATE - 1e-3) * 0.5 * (1 + torch.cos(torch.tensor(torch.pi * (step - 1) / steps)))
        z.addcdiv_(first / (1 - 0.9**step), (second / (1 - 0.999**step)).sqrt_().add_(1e-8), value=-float(rate))
        z[:, :numeric].clamp_(low, high)
    codes = [block.argmax(-1) for block in torch.split(z[:, numeric:], sizes, -1)] if sizes else []
    chosen = torch.stack(codes, 1) if codes else torch.zeros(len(z), 0, dtype=torch.long)
    return chosen, z[:, :numeric].double()


def slopes_by_numbers(view: View, codes: Tensor, numbers: Tensor) -> tuple[Tensor, Slopes]:
    """The misses (rows, equations) and their derivatives by the numbers."""
    span = view.entrance
    others = sum(each.equations for each in view.spans if each is not span)
    if span is not None and span.outside is None and view.numeric > others:
        return _projected(view, span, view.rows_of(codes, numbers))
    return _differences(view, codes, numbers)


def _differences(view: View, codes: Tensor, numbers: Tensor) -> tuple[Tensor, Dense]:
    """Differences in float64, and one plain forward pass for all directions.

    To one side they are exact to five digits, and wherever a net is piecewise linear; where misses are zero a search
    ends at the same numbers whatever its slopes. Forward-mode differentiation gives the same and is several times
    slower for small nets.
    """
    count, width = numbers.shape
    moves = STEP * torch.eye(width, dtype=numbers.dtype)
    moves = torch.cat([torch.zeros(1, width, dtype=numbers.dtype), moves])  # (1 + numeric, numeric)
    points = (numbers[None] + moves[:, None]).flatten(0, 1)
    far = misses(view, view.rows_of(codes.repeat(len(moves), 1), points)).reshape(len(moves), count, -1)
    return far[0], Dense(((far[1:] - far[0]) / STEP).permute(1, 2, 0))


def _projected(view: View, span: Span, x: Tensor) -> tuple[Tensor, Projected]:
    """More numbers than equations beyond the first layer: one backward pass for each of these instead."""
    entrance = next(place for place, each in enumerate(view.spans) if each is span)
    weights = _weights(view)
    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        pairs = zip(weights, view.inputs(x), view.spans, strict=True)
        parts = [weight * each.beyond(value) for weight, value, each in pairs]
        others = [parts[k] for k in range(len(parts)) if k != entrance]
        rows = [
            torch.autograd.grad(part[:, equation].sum(), x, retain_graph=True)[0][:, : view.numeric]
            for part in others
            for equation in range(part.shape[1])
        ]
    slope = torch.stack(rows, 1) if rows else x.new_zeros(len(x), 0, view.numeric)
    begin = sum(part.shape[1] for part in parts[:entrance])
    miss = torch.cat(parts, 1).detach()
    return miss, Projected(span.right, weights[entrance], begin, slope.detach())


def glance(
    view: View, codes: Tensor, numbers: Tensor, family: Tensor | None = None, steps: int = 3
) -> tuple[Tensor, Tensor]:
    """Numbers after a few steps of :func:`polish` for many rows, and how far these are: which deserve a long look.

    A short look need not be exact: float32, a few random mixtures of all equations, and parts that fit a cache.

    Args:
        family: (directions, numeric) in which the numbers are moved; each by itself if none are given.
    """
    axes = torch.eye(view.numeric, dtype=numbers.dtype) if family is None else family
    generator = torch.Generator().manual_seed(0)
    sizes = [span.right.shape[1] if span.outside is None else span.equations for span in view.spans]
    equations = sum(sizes)
    mixing = torch.randn(equations, min(equations, MIXTURES), generator=generator) / equations**0.5
    parts = torch.split(mixing, sizes)
    mixtures = [
        weight * span.float().mixtures(part)
        for weight, span, part in zip(_weights(view), view.spans, parts, strict=True)
    ]
    inputs_of = view.plain_inputs()

    def far(points: Tensor, own: Tensor) -> Tensor:
        inputs = inputs_of(view.rows_of(own, points).float())
        return torch.stack([value @ mixture for value, mixture in zip(inputs, mixtures, strict=True)]).sum(0)

    part_of_rows = min(PART, max(ENTRIES // (view.space.layout.width * (len(axes) + 1)), 1))
    parts_of_rows = zip(torch.split(codes, part_of_rows), torch.split(numbers, part_of_rows), strict=True)
    found = [_glance(far, own, start, view, axes, steps) for own, start in parts_of_rows]
    return torch.cat([each[0] for each in found]), torch.cat([each[1] for each in found])


def _glance(
    far: Callable[[Tensor, Tensor], Tensor], codes: Tensor, numbers: Tensor, view: View, axes: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    moves = torch.cat([torch.zeros_like(axes[:1]), (COARSE * axes.float()).to(axes.dtype)])
    best, lowest = numbers, numbers.new_full((len(numbers),), torch.inf)
    for step in range(steps + 1):
        points = (numbers[None] + moves[:, None]).flatten(0, 1)
        all_far = far(points, codes.repeat(len(moves), 1)).double().reshape(len(moves), len(numbers), -1)
        miss, slope = all_far[0], ((all_far[1:] - all_far[0]) / COARSE).permute(1, 2, 0)
        cost = miss.square().sum(1)
        best = torch.where((cost < lowest)[:, None], numbers, best)
        lowest = torch.minimum(cost, lowest)
        if step == steps:
            break
        square = slope.mT @ slope
        ridge = 1e-3 * torch.diagonal(square, dim1=1, dim2=2) + 1e-12
        move = torch.linalg.solve(square + torch.diag_embed(ridge), slope.mT @ miss[..., None])[..., 0]
        numbers = (best - move @ axes).clamp(view.low - 1e-3, view.high + 1e-3)
    return best, lowest


def polish(view: View, codes: Tensor, numbers: Tensor, held: Tensor | None = None, steps: int = 12) -> Tensor:
    """The numbers that bring each row nearest to the spans, its categories fixed: damped Gauss-Newton.

    Args:
        held: (rows, numeric) numbers that stay as they are.
    """
    if not view.numeric or not len(numbers):
        return numbers
    moving = torch.ones_like(numbers) if held is None else (~held).to(numbers.dtype)
    part = max(ENTRIES // (view.numeric * sum(span.equations for span in view.spans) + 1), 1)
    parts = zip(torch.split(codes, part), torch.split(numbers, part), torch.split(moving, part), strict=True)
    return torch.cat([_polish(view, own, start, free, steps) for own, start, free in parts])


def _polish(view: View, codes: Tensor, numbers: Tensor, moving: Tensor, steps: int) -> Tensor:
    damping = numbers.new_full((len(numbers),), 1e-3)
    miss, slopes = slopes_by_numbers(view, codes, numbers)
    cost = miss.square().sum(1)
    for _ in range(steps):
        step = slopes.step(miss, damping, moving)
        trial = (numbers - step * moving).clamp(view.low - 1e-3, view.high + 1e-3)
        trial = torch.where(moving.bool(), trial, numbers)
        trial_miss, trial_slopes = slopes_by_numbers(view, codes, trial)
        trial_cost = trial_miss.square().sum(1)
        better = trial_cost < cost
        numbers = torch.where(better[:, None], trial, numbers)
        miss = torch.where(better[:, None], trial_miss, miss)
        slopes = slopes.where(better, trial_slopes)
        cost = torch.where(better, trial_cost, cost)
        damping = torch.where(better, damping * 0.1, damping * 10).clamp(1e-9, 1e6)
    return numbers


def number_errors(view: View, codes: Tensor, numbers: Tensor, held: Tensor | None = None) -> Tensor:
    """(rows, numeric) how far a number moves at most when the misses change by a length of 1; 0 for held ones."""
    if not view.numeric or not len(numbers):
        return torch.zeros_like(numbers)
    error = slopes_by_numbers(view, codes, numbers)[1].errors(held)
    return error if held is None else torch.where(held, 0.0, error)
