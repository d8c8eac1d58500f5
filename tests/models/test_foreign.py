"""Somebody's own network is audited as ours are, and one that cannot be is told in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import seepage
from seepage._core import InputError
from seepage.models import Foreign, Inputs, has_passes, make_learner, passes_of
from seepage.plans import registry
from tests import cases

QUICK: dict[str, Any] = {
    "target": "target", "batch_sizes": (2,), "clients": 2, "trials": 2, "exposure": 0,
    "attack_points": ("initialized",), "attacks": ("exact:restarts=2",),
}  # fmt: skip
LAYOUT = Inputs(numeric=2, sizes=(3, 2), outputs=1)


def as_ours(inputs: Inputs) -> nn.Module:
    """The layers of our `mlp`, as a stranger would write them."""
    width = 32
    return nn.Sequential(
        nn.Linear(inputs.width, width), nn.LayerNorm(width), nn.GELU(),
        nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(),
        nn.Linear(width, inputs.outputs),
    )  # fmt: skip


def numbers(summary: Any) -> list[Any]:
    return [cell.model_dump(exclude={"id", "model", "strongest", "seconds"}) for cell in summary.cells]


def test_a_net_like_ours_gives_what_ours_gives() -> None:
    table = cases.frame()
    ours = seepage.audit(table, model="mlp", **QUICK)
    pointed = seepage.audit(table, model="tests.models.test_foreign:as_ours", **QUICK)
    assert [cell.rows_exact for cell in pointed.cells] == [cell.rows_exact for cell in ours.cells]
    assert pointed.cells[0].metrics["exact"] == ours.cells[0].metrics["exact"]
    assert pointed.cells[0].model == "tests.models.test_foreign:as_ours"


@pytest.mark.slow
def test_a_module_that_is_given_brings_its_weights() -> None:
    table = cases.frame()
    width = registry_width(table)
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(width, 40), nn.ReLU(), nn.Linear(40, 1))
    before = [value.clone() for value in net.parameters()]
    one, other = (seepage.audit(table, model=net, **QUICK) for _ in range(2))
    assert numbers(one) == numbers(other)
    assert one.cells[0].model.startswith("Sequential@")
    assert all(torch.equal(value, kept) for value, kept in zip(net.parameters(), before, strict=True))
    with torch.no_grad():
        net[0].weight.mul_(1.5)
    assert seepage.audit(table, model=net, **QUICK).cells[0].model != one.cells[0].model


class Written(nn.Module):
    """The layers of our `mlp` in a class."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(inputs.width, 16), nn.LayerNorm(16), nn.Linear(16, inputs.outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(nn.functional.gelu(self.norm(self.first(x))))


class Around(Written):
    """The same with a way around its layers."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + x.sum(-1, keepdim=True)


class Unused(Written):
    """The same with a layer that nothing passes."""

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.relu(self.first(x)))


def test_a_class_that_is_a_perceptron_gets_its_passes() -> None:
    """They give the slopes that automatic differentiation gives."""
    learner, around, unused = (
        make_learner(Foreign(made=made), LAYOUT.numeric, LAYOUT.sizes, "binary", 2, seed=0)
        for made in (Written, Around, Unused)
    )
    assert has_passes(learner)
    assert not has_passes(around)
    assert not has_passes(unused)
    x = torch.rand(1, 4, LAYOUT.width, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([[0, 1, 1, 0]])
    net = passes_of(learner, learner.initial(), 1)
    outputs = net.forward(x)
    slopes = torch.func.grad(learner.loss_of_outputs)(outputs[0], y[0])
    pairs = net.backward(slopes[None])
    expected = learner.gradient(learner.initial(), x[0], y[0])
    errors, inputs = (part.reshape(4, -1) for part in pairs.factors["first"])
    torch.testing.assert_close(errors.T @ inputs, expected["first.weight"])


def registry_width(table: Any) -> int:
    """Entries of a row of the table."""
    found: list[int] = []

    def peek(inputs: Inputs) -> nn.Module:
        found.append(inputs.width)
        return nn.Linear(inputs.width, inputs.outputs)

    seepage.audit(table, model=peek, **QUICK)
    return found[0]


class Odd(nn.Module):
    """A linear layer with something wrong behind it."""

    def __init__(self, after: Callable[[Tensor], Any], outputs: int = 1) -> None:
        super().__init__()
        self.layer, self.after = nn.Linear(LAYOUT.width, outputs), after

    def forward(self, x: Tensor) -> Any:
        return self.after(self.layer(x))


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (Odd(lambda y: y + torch.rand(1)), "gives other outputs for the same rows in evaluation"),
        (Odd(lambda y: y, outputs=7), r"outputs of shape \(3, 7\); the task needs \(3, 1\)\.$"),
        (Odd(lambda y: y, outputs=2), "say so with binary_outputs=2"),
        (Odd(lambda y: (y, y)), "gives a tuple; it must give one tensor"),
        (Odd(lambda y: y.double()), "of type torch.float64"),
        (nn.Linear(4, 1), "cannot take rows of 7 entries"),
        (nn.Identity(), "has no parameters"),
        (lambda inputs: 3, "gave a int; it must give a torch.nn.Module"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(made: Any, sentence: str) -> None:
    model = Foreign(made=made)
    with pytest.raises(InputError, match=sentence):
        model.build(LAYOUT.numeric, LAYOUT.sizes, LAYOUT.outputs)


def test_what_cannot_be_differentiated_is_one_sentence() -> None:
    model = Foreign(made=Odd(lambda y: torch.from_numpy(y.detach().numpy())))
    with pytest.raises(InputError, match="cannot be differentiated"):
        make_learner(model, LAYOUT.numeric, LAYOUT.sizes, "binary", 2, seed=0)


def test_what_is_no_model_is_told() -> None:
    with pytest.raises(InputError, match="has no method 'build'"):
        registry.written_out("model", object(), "rows")
