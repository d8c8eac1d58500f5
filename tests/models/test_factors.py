from __future__ import annotations

import pytest
import torch

from seepage._core import Streams
from seepage.federation import Automatic, FedSGD, simulate
from seepage.models import factored_gradient, layer_slopes, linear_calls, parameter_name
from seepage.observation import Knowledge
from tests import cases


@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("model", cases.MODELS)
def test_factors_multiply_to_the_gradient(model: str, task: str) -> None:
    """Every parameter is covered once, by factors or as a tensor, and the products are what autograd gives."""
    protocol = FedSGD(batch_size=4, exposure=0, schedule=Automatic(keep=("initialized",)))
    seen = simulate(protocol, cases.population(model, task), Knowledge(), Streams(2)).points[0].observations[0]
    x = torch.randn(4, seen.layout.width, generator=torch.Generator().manual_seed(1))
    assert seen.labels is not None
    calls = linear_calls(seen.learner, seen.layout.width)
    factors, dense = factored_gradient(seen.learner, calls, seen.parameters, x, seen.labels)
    whole = seen.learner.gradient(seen.parameters, x, seen.labels)
    rebuilt = dict(dense)
    for layer, (slopes, inputs) in factors.items():
        rebuilt[parameter_name(layer, "weight")] = slopes.T @ inputs
        if parameter_name(layer, "bias") in whole:
            rebuilt[parameter_name(layer, "bias")] = slopes.sum(0)
    assert rebuilt.keys() == whole.keys()
    for name, value in whole.items():
        assert torch.allclose(rebuilt[name], value, rtol=1e-4, atol=1e-6), name
    assert factors, "every model here has a linear layer"
    for layer, times in calls.items():
        if times == [1]:
            own = layer_slopes(seen.learner, layer, seen.parameters, x, seen.labels)  # of a row's own loss, no mean
            assert torch.allclose(own, len(x) * factors[layer][0], rtol=1e-4, atol=1e-6), layer
