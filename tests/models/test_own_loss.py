"""A loss of somebody's own: clients and attackers compute with it, and what is no loss is one sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from typer.testing import CliRunner

import seepage
from seepage._core import InputError
from seepage.cli.main import app
from seepage.models import MLP, Arranged, Learner, make_learner
from tests import cases

QUICK: dict[str, Any] = {
    "target": "target", "batch_sizes": (2,), "clients": 2, "trials": 2, "exposure": 0,
    "attack_points": ("initialized",),
}  # fmt: skip


def same(outputs: Tensor, targets: Tensor) -> Tensor:
    """The task's own loss, as a stranger would write it."""
    return functional.binary_cross_entropy_with_logits(outputs[:, 0], targets.float())


def focal(outputs: Tensor, targets: Tensor) -> Tensor:
    """Lin et al., Focal Loss for Dense Object Detection, 2017."""
    plain = functional.binary_cross_entropy_with_logits(outputs[:, 0], targets.float(), reduction="none")
    return ((1 - torch.exp(-plain)) ** 2 * plain).mean()


def learner_of(function: Any, task: Any = "binary") -> Learner:
    return make_learner(Arranged(MLP(), criterion=function), 2, (3, 2), task, 2, seed=0)


def test_the_tasks_loss_given_as_a_function_gives_the_same_audit() -> None:
    asked = {**QUICK, "attacks": ("exact:restarts=2", "tableak:steps=20:restarts=2")}
    plain, own = (seepage.audit(cases.frame(), model="mlp", **asked, **more) for more in ({}, {"loss": same}))
    for one, other in zip(plain.cells, own.cells, strict=True):
        assert one.metrics["exact"].mean == other.metrics["exact"].mean


def test_another_loss_is_read_by_name() -> None:
    name = "tests.models.test_own_loss:focal"
    summary = seepage.audit(cases.frame(), model="mlp_tableak:binary_outputs=1", loss=name, attacks=("exact",), **QUICK)
    assert summary.cells[0].metrics["exact"].mean == 1.0
    assert summary.cells[0].metrics["certified_wrong"].mean == 0.0


def test_labels_are_not_restored_under_a_loss_of_unknown_form() -> None:
    asked = {**QUICK, "attacks": ("fast:steps=5:restarts=2",), "labels_known": False}
    summary = seepage.audit(cases.frame(), model="mlp", loss=focal, **asked)
    assert set(summary.cells[0].outcomes) <= {"ok", "budget_spent"}


def test_a_loss_of_numbers_is_left_to_optimisation() -> None:
    def absolute(outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.smooth_l1_loss(outputs[:, 0], targets)

    frame = cases.frame()
    number = next(name for name, kind in frame.schema.items() if kind.is_numeric() and name != "target")
    asked = {**QUICK, "target": number, "task": "regression", "attacks": ("exact", "fast:steps=5:restarts=2")}
    exact, fast = seepage.audit(frame, model="mlp", loss=absolute, **asked).cells
    assert exact.outcomes == {"not_applicable": 2}
    assert set(fast.outcomes) <= {"ok", "budget_spent"}


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda outputs, targets: outputs[:, 0], r"a tensor of shape \(3,\); it must give one number"),
        (lambda outputs, targets: 1.0, "gives float; it must give one number"),
        (lambda outputs, targets: outputs.sum() * torch.inf, "it must be finite"),
        (lambda outputs, targets: torch.tensor(1.0), "does not change with the outputs"),
        (lambda outputs, targets: functional.nll_loss(outputs, targets[:2]), "cannot take outputs of shape"),
    ],
)
def test_what_is_no_loss_is_one_sentence(function: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        learner_of(function)


def test_a_sum_is_no_mean_of_rows() -> None:
    assert not learner_of(same).abilities.mixes
    assert learner_of(lambda outputs, targets: 3 * same(outputs, targets) * len(outputs)).abilities.mixes


def test_a_name_that_is_none_is_one_sentence() -> None:
    done = CliRunner().invoke(app, ["audit", "--data", "clinic", "--loss", "tests.models.test_own_loss:banana"])
    assert isinstance(done.exception, InputError)
    with pytest.raises(InputError, match="no method 'function'"):
        seepage.audit(cases.frame(), loss=object(), **QUICK)
