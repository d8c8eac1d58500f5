"""Slow and plain: what fast code is compared with."""

from __future__ import annotations

from torch import Tensor

from seepage.models import Learner, Parameters


def local_training(
    learner: Learner, parameters: Parameters, x: Tensor, y: Tensor, rate: float, *, noisy: bool = False
) -> Parameters:
    """Plain SGD of one client over a sequence of batches; the change of the parameters, which it sends.

    Args:
        x: (steps, rows, width), the batches in the order in which they are used.
        y: (steps, rows).
        rate: the local learning rate.
    """
    current = parameters
    for step in range(x.shape[0]):
        slope = learner.gradient(current, x[step], y[step], noisy=noisy)
        current = {name: value - rate * slope[name] for name, value in current.items()}
    return {name: current[name] - parameters[name] for name in parameters}
