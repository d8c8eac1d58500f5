from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from seepage._core import Streams
from seepage.attacks.inversion import Inversion
from seepage.attacks.inversion.priors import EpochConsistency
from seepage.attacks.inversion.stepping import stacked
from seepage.federation import Automatic, FedAvg, simulate
from seepage.observation import Knowledge, Observation
from tests import cases
from tests.reference import local_training

FIRST = Automatic(keep=("initialized",))


def observed(model: str = "mlp", task: str = "binary") -> tuple[Observation, ...]:
    protocol = FedAvg(batch_size=2, local_rows=4, local_epochs=3, exposure=0, schedule=FIRST, learning_rate=0.1)
    return simulate(protocol, cases.population(model, task), Knowledge(), Streams(2)).points[0].observations


@pytest.mark.parametrize("kept", [1 << 60, 1], ids=["all parameters kept", "only some kept"])
@pytest.mark.parametrize("task", cases.TASKS)
def test_the_adjoint_is_the_slope_of_the_unrolled_training(task: str, kept: int) -> None:
    """Backwards through any number of local steps, with everything kept or with checkpoints: what autograd gives."""
    seen = observed(task=task)
    attack = Inversion(priors=(EpochConsistency(weight=0.5),))
    scene = attack.scene(seen)
    assert scene.sets == 3
    evaluate = replace(attack.problem(scene), kept=kept).evaluation(lambda function: function)
    x = torch.randn(len(seen), 2, 12, seen[0].layout.width, generator=torch.Generator().manual_seed(5))
    losses, slopes = evaluate(x, *stacked(seen))
    for index, one in enumerate(seen):
        rows = x[index, 1].clone().requires_grad_()
        batches = rows.reshape(6, 2, -1)
        assert one.labels is not None
        change = local_training(one.learner, one.parameters, batches, one.labels.repeat(3).reshape(6, 2), 0.1)
        ours, theirs = (torch.cat([u[name].flatten() for name in one.update]).double() for u in (change, one.update))
        means = rows.reshape(3, 4, -1).mean(1)
        spread = torch.stack([(a - b).square().mean() for a in means for b in means]).mean()
        loss = 1 - torch.nn.functional.cosine_similarity(ours, theirs, dim=0) + 0.5 * spread
        (slope,) = torch.autograd.grad(loss, rows)
        assert float(losses[index, 1]) == pytest.approx(float(loss.detach()), abs=1e-5)
        assert torch.allclose(slopes[index, 1], slope, atol=1e-5 + 1e-3 * float(slope.abs().max()))
