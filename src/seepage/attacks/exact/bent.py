"""How far layers are from affine: what tells a record from a combination of records."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.attacks.exact.span import WIDE
from seepage.attacks.exact.view import View, usable_layers
from seepage.models import parameter_name

SAMPLES = 3  # rows for every dimension that an affine function has
SAME = 1e-9  # a share by which a layer's inputs may move without being moved


def bent_of(view: View) -> tuple[tuple[float, float], ...]:
    """For each layer, how far its inputs and its slopes are from affine in the row, as a share of their length.

    Measured on random valid rows: what the best affine function leaves. For wide tables it is the best affine function
    of the first layer's outputs: they are nearly normal sums of many inputs, and of such sums a function that sees
    nothing else has no other affine part. There are a hundred of them instead of thousands of inputs.
    """
    if not view.layers:
        return ()
    width = view.space.layout.width
    layer = next(each for each in usable_layers(view.plain, width) if each.entrance)
    weight = view.parameters[parameter_name(layer.name, "weight")]
    few = width > WIDE and layer.back is None and len(weight) < width and _only_way(view, weight)
    x = _rows(view, SAMPLES * (1 + (len(weight) if few else width)))
    regressors = x @ weight.T if few else x
    basis = torch.linalg.svd(torch.cat([regressors, x.new_ones(len(x), 1)], 1), full_matrices=False)
    inside = basis.U[:, 1e-9 * basis.S[0] < basis.S]  # (rows, dimensions) everything an affine function can be

    def share(values: Tensor) -> float:
        rest = values - inside @ (inside.T @ values)
        return float(rest.norm() / values.norm().clamp(min=1e-300))

    slopes = view.slopes(x, torch.zeros(len(x), dtype=torch.long))
    every = zip(view.layers, view.inputs(x), slopes, strict=True)
    return tuple((0.0 if layer.affine else share(taken), share(slope)) for layer, taken, slope in every)


def _rows(view: View, count: int) -> Tensor:
    """Random valid rows."""
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(count, view.numeric, generator=generator).double().clamp(view.low, view.high)
    codes = [torch.randint(0, len(table), (count,), generator=generator) for table in view.codes]
    return view.rows_of(torch.stack(codes, 1) if codes else torch.zeros(count, 0, dtype=torch.long), numbers)


def _only_way(view: View, weight: Tensor) -> bool:
    """Whether a move that the first layer does not see changes nothing behind it: no other path leads around it."""
    x = _rows(view, 4)
    move = torch.randn(x.shape, generator=torch.Generator().manual_seed(1)).double()
    basis = torch.linalg.qr(weight.T)[0]  # (inputs, outputs)
    move = move - (move @ basis) @ basis.T
    labels = torch.zeros(len(x), dtype=torch.long)
    before, after = ([*view.inputs(each), *view.slopes(each, labels)] for each in (x, x + move))
    seen = [not layer.entrance for layer in view.layers] + [True] * len(view.layers)
    return all(
        bool((one - other).norm() <= SAME * one.norm().clamp(min=1e-300))
        for one, other, behind in zip(before, after, seen, strict=True)
        if behind
    )
