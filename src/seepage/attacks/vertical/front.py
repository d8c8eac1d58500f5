"""CAFE's third step where step II is exact: find the data whose local parts give the first layer's inputs.

Every row is a problem of its own, and all are solved at once.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from seepage.models import Parameters, layer_inputs, linear_calls
from seepage.observation.vertical import Recovery, VerticalScene

STEPS = 300


def has_front(scene: VerticalScene) -> bool:
    """Whether the workers' local parts change the data before the first fully connected layer sees them."""
    width = scene.space.layout.width
    probe = torch.rand(2, width, generator=torch.Generator().manual_seed(0))
    own = layer_inputs(scene.learner, [scene.first], scene.learner.initial(), probe)[0]
    return own.shape != probe.shape or not torch.equal(own, probe)


def read_behind(scene: VerticalScene, parameters: Parameters, recovery: Recovery) -> Recovery:
    """The same with data where the workers' local parts make the first layer's inputs of them.

    Nothing is done where inputs are as wide as the data, or where the layer sees a row in several parts: what was
    recovered is then the data, or no row's inputs.
    """
    width = scene.space.layout.width
    once = linear_calls(scene.learner, width)[scene.first] == [1]
    if recovery.inputs.shape[1] == width or not once or not bool(recovery.determined.any()):
        return recovery
    note = f"{recovery.note} Their data were fitted behind the workers' local parts."
    return replace(recovery, inputs=behind_front(scene, parameters, recovery).double(), note=note)


def behind_front(scene: VerticalScene, parameters: Parameters, found: Recovery, steps: int = STEPS) -> Tensor:
    """(rows, width) the data behind the inputs that were recovered; NaN where nothing was.

    Least squares in the data by L-BFGS, from the middle of the range of pixels.

    Args:
        parameters: the weights at which the inputs were recovered.
    """
    told = found.determined
    aim = found.inputs[told].float()
    x = torch.full((len(aim), scene.space.layout.width), 0.5, requires_grad=True)
    optimiser = torch.optim.LBFGS([x], max_iter=steps, history_size=20, line_search_fn="strong_wolfe", tolerance_grad=0)

    def miss() -> Tensor:
        optimiser.zero_grad()
        own = layer_inputs(scene.learner, [scene.first], parameters, x)[0]
        loss: Tensor = (own - aim).square().sum()
        torch.autograd.backward(loss)
        return loss

    optimiser.step(miss)  # type: ignore[no-untyped-call]
    data = torch.full((scene.rows, scene.space.layout.width), torch.nan)
    data[told] = x.detach()
    return data
