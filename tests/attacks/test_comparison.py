from __future__ import annotations

import pytest
import torch
from torch import Tensor

from seepage.attacks.inversion.comparison import compare_factors, compare_tensors


@pytest.mark.parametrize(
    "rows", [2, 70], ids=["small batch: inner products of rows", "large batch: the product itself"]
)
@pytest.mark.parametrize("bias", [True, False])
def test_factors_compare_like_the_tensors_they_stand_for(rows: int, bias: bool) -> None:
    """Both numbers of a layer, and their slopes, equal those of the multiplied-out gradient by autograd."""
    generator = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    slopes, inputs = draw(2, 3, rows, 95).requires_grad_(), draw(2, 3, rows, 90).requires_grad_()
    weight, offset = draw(2, 95, 90), draw(2, 95) if bias else None
    found = compare_factors(slopes, inputs, weight, offset)
    simulated = [slopes.transpose(-1, -2) @ inputs, *([slopes.sum(-2)] if bias else [])]
    expected = compare_tensors(simulated, [weight, *([offset] if offset is not None else [])])
    assert torch.allclose(found.dot, expected.dot)
    assert torch.allclose(found.square, expected.square)
    by_dot, by_square = draw(2, 3, 1, 1), draw(2, 3, 1, 1)
    value = (by_dot[..., 0, 0] * expected.dot + by_square[..., 0, 0] * expected.square).sum()
    reference = torch.autograd.grad(value, (slopes, inputs))
    for ours, theirs in zip(found.pull(by_dot, by_square), reference, strict=True):
        assert torch.allclose(ours, theirs)
