from __future__ import annotations

import pytest
import torch
from torch import Tensor

from seepage.attacks.inversion.comparison import compare


@pytest.mark.parametrize("layered", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [2, 70], ids=["inner products of rows", "the product itself"])
def test_factors_compare_like_the_tensors_they_stand_for(rows: int, bias: bool, layered: bool) -> None:
    """Both numbers of every layer, and their slopes, equal those of the multiplied-out gradient by autograd."""
    generator = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    slopes, inputs = draw(2, 3, rows, 95).requires_grad_(), draw(2, 3, rows, 90).requires_grad_()
    few, some = draw(2, 3, rows, 4).requires_grad_(), draw(2, 3, rows, 5).requires_grad_()
    scale = draw(2, 3, 7).requires_grad_()
    factors, dense = {"first": (slopes, inputs), "last": (few, some)}, {"norm.weight": scale}
    simulated = {"first.weight": slopes.transpose(-1, -2) @ inputs, "last.weight": few.transpose(-1, -2) @ some}
    observed = {"first.weight": draw(2, 95, 90), "norm.weight": draw(2, 7), "last.weight": draw(2, 4, 5)}
    if bias:
        simulated["first.bias"] = slopes.sum(-2)
        observed = {"first.weight": observed["first.weight"], "first.bias": draw(2, 95), **observed}
    simulated["norm.weight"] = scale
    found = compare(factors, dense, observed, layered=layered)
    dots = {name: (simulated[name] * observed[name][:, None]).flatten(2).sum(-1) for name in observed}
    squares = {name: simulated[name].square().flatten(2).sum(-1) for name in observed}
    layers = [[name for name in observed if name.startswith(layer)] for layer in ("first", "norm", "last")]
    if layered:
        for layer, parts in zip(found, layers, strict=True):
            assert torch.allclose(layer.dot, sum(dots[name] for name in parts))  # type: ignore[arg-type]
            assert torch.allclose(layer.square, sum(squares[name] for name in parts))  # type: ignore[arg-type]
    whole_dot, whole_square = sum(dots.values()), sum(squares.values())
    assert torch.allclose(sum(layer.dot for layer in found), whole_dot)  # type: ignore[arg-type]
    by_dot, by_square = draw(2, 3, 1, 1), draw(2, 3, 1, 1)
    value = (by_dot[..., 0, 0] * whole_dot + by_square[..., 0, 0] * whole_square).sum()
    reference = torch.autograd.grad(value, (slopes, inputs, few, some, scale))
    by_factors: dict[str, tuple[Tensor, Tensor]] = {}
    by_tensors: dict[str, Tensor] = {}
    for layer in found:
        more, others = layer.pull(by_dot, by_square)
        by_factors |= more
        by_tensors |= others
    ours = (*by_factors["first"], *by_factors["last"], by_tensors["norm.weight"])
    for one, other in zip(ours, reference, strict=True):
        assert torch.allclose(one, other)
