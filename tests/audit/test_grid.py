from __future__ import annotations

from typing import Any

import pytest

import seepage
from seepage._core import Outcome
from tests import cases

PUBLISHED = ("tableak:restarts=2", "inverting_gradients", "dlg", "sapag")
TINY: dict[str, Any] = {
    "batch_sizes": (2,),
    "trials": 2,
    "clients": 2,
    "exposure": 0,
    "attack_points": "initialized",
    "attack_options": {"steps": 3},
}
SMALL = {
    "mlp": "mlp:width=8",
    "mlp_tableak": "mlp_tableak:width=8",
    "resnet": "resnet:width=8:blocks=1",
    "ft_transformer": "ft_transformer:width=8:heads=2:blocks=1",
    "tabnet": "tabnet:n_d=4:n_a=4:steps=2",
    "linear": "linear",
}


@pytest.mark.slow
@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
@pytest.mark.parametrize("labels", [True, False], ids=["labels known", "labels unknown"])
def test_every_published_attack_runs_on_every_model_and_task(task: str, protocol: str, labels: bool) -> None:
    local = {"local_rows": 4, "local_epochs": 2} if protocol == "fedavg" else {}
    summary = seepage.audit(
        cases.frame(task),
        target="target",
        task=task,
        models=tuple(SMALL.values()),
        attacks=PUBLISHED,
        protocol=protocol,
        labels_known=labels,
        **(TINY | local),
    )
    assert len(summary.cells) == len(SMALL) * len(PUBLISHED)
    scored = {Outcome.OK.code, Outcome.BUDGET_SPENT.code}
    for cell in summary.cells:
        assert cell["outcome"] in scored, (cell["model"], cell["attack"], cell["notes"])
        assert cell["metrics"]["accuracy"]["mean"] >= 0
