"""A module that vmap cannot take is computed by a loop, to the same numbers, and it is said."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import seepage
from seepage.attacks import applicability
from seepage.data import Layout
from seepage.models import Foreign, Inputs, Learner, make_learner
from seepage.models.one_by_one import one_by_one
from tests import cases

NUMERIC, SIZES = 2, (3, 2)
WIDTH = NUMERIC + sum(SIZES)
QUICK: dict[str, Any] = {
    "target": "target", "batch_sizes": (2,), "clients": 2, "trials": 2, "exposure": 0,
    "attack_points": ("initialized",),
}  # fmt: skip


class Plain(nn.Module):
    """The net that the others below are, in ways that vmap cannot take."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(inputs.width, 24), nn.Linear(24, inputs.outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.relu(self.first(x)))


class Branching(Plain):
    """Asks what the data are."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        return self.last(torch.relu(hidden) if bool((hidden > 0).any()) else torch.zeros_like(hidden))


class Asking(Plain):
    """Takes a number out of a tensor."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        return self.last(torch.relu(hidden) * (1.0 if hidden.abs().max().item() >= 0 else 2.0))


class Writing(Plain):
    """Writes into a tensor of its own, and over the rows that it was given."""

    def forward(self, x: Tensor) -> Tensor:
        x.mul_(2)
        hidden = torch.zeros(len(x), 24)
        hidden += self.first(x / 2)
        return self.last(torch.relu(hidden))


class _Once(torch.autograd.Function):
    generate_vmap_rule = False

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.clamp(min=0)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.tensor(slope.tolist(), dtype=x.dtype) * (x > 0)


class Once(Plain):
    """The gradient of its gradient is wrong, and nothing says so."""

    def forward(self, x: Tensor) -> Tensor:
        return self.last(_Once.apply(self.first(x)))


LOOPED = [Branching, Asking, Writing]
CHOSEN: list[type[Plain]] = [Plain]


def switch(inputs: Inputs) -> nn.Module:
    """One name for several nets: what is drawn at random depends on the name."""
    return CHOSEN[0](inputs)


def learner_of(made: Any) -> Learner:
    return make_learner(Foreign(made=made), NUMERIC, SIZES, "binary", 2, seed=0)


def rows(*shape: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(*shape, WIDTH, generator=generator), torch.randint(0, 2, shape, generator=generator)


@pytest.mark.parametrize("made", LOOPED)
def test_a_loop_gives_what_vmap_gives(made: type[Plain]) -> None:
    plain, looped = learner_of(Plain), learner_of(made)
    assert plain.vectorised
    assert not looped.vectorised
    x, y = rows(3, 4)
    kept = x.clone()
    expected, found = (learner.gradients(learner.initial(), x, y) for learner in (plain, looped))
    assert torch.equal(x, kept), "the rows were written over"
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)
    parameters = {name: value.expand(3, *value.shape) for name, value in plain.initial().items()}
    expected, found = (learner.local_steps(parameters, x, y, 0.1) for learner in (plain, looped))
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)


def test_our_models_are_not_tried() -> None:
    learner = make_learner(seepage.models.MLP(), NUMERIC, SIZES, "binary", 2, seed=0)
    assert learner.vectorised
    assert learner.abilities is make_learner(seepage.models.MLP(), 1, (), "binary", 2, seed=0).abilities


@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
@pytest.mark.slow
def test_an_audit_of_a_looped_net_gives_what_the_plain_one_gives(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: dict[str, Any] = {"local_rows": 4, "local_epochs": 2} if protocol == "fedavg" else {}
    asked = {"attacks": ("exact:restarts=2", "tableak:steps=20:restarts=2"), "protocol": protocol, **QUICK, **more}
    summaries = []
    for made in (Plain, Branching):
        monkeypatch.setattr("tests.models.test_one_by_one.CHOSEN", [made])
        summaries.append(seepage.audit(cases.frame(), model="tests.models.test_one_by_one:switch", **asked))
    plain, looped = summaries
    for one, other in zip(plain.cells, looped.cells, strict=True):
        assert one.metrics["accuracy"].mean == pytest.approx(other.metrics["accuracy"].mean, abs=1e-6)
    assert "one restart at a time" in looped.applicability[0].findings[-1].why
    assert "one restart at a time" not in plain.applicability[0].findings[-1].why


def test_without_second_slopes_algebra_remains() -> None:
    learner = learner_of(Once)
    assert "differences of gradients say" in learner.abilities.flat
    summary = seepage.audit(cases.frame(), model=Once, attacks=("exact:restarts=2", "fast:steps=5"), **QUICK)
    exact, fast = summary.cells
    assert exact.metrics["exact"].mean > 0
    assert fast.outcomes == {"not_applicable": 2}
    setup = applicability.Setup(learner=learner, layout=Layout(NUMERIC, SIZES), rows=2)
    assert applicability.findings(setup)[-1].verdict == "cannot"


def test_rows_that_a_net_mixes_are_not_peeled() -> None:
    class Mixing(Plain):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + x.mean()

    learner = learner_of(Mixing)
    assert learner.abilities.mixes
    setup = applicability.Setup(learner=learner, layout=Layout(NUMERIC, SIZES), rows=2)
    assert not setup.peelable


def test_nested_arguments_are_taken_apart_and_put_together() -> None:
    def one(pair: dict[str, Tensor], other: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return pair["a"] + other, {"b": pair["a"] * 2}

    found, more = one_by_one(one, in_dims=(0, None))({"a": torch.arange(3)}, torch.tensor(1))
    assert found.tolist() == [1, 2, 3]
    assert more["b"].tolist() == [0, 2, 4]
