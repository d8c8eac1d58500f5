"""What a model promises."""

from __future__ import annotations

import numpy as np
import torch

from seepage.models import Architecture, make_learner
from seepage.testing.scenes import tiny_learner, tiny_table

ROUNDING = 1e-4  # single precision through a small net, on any processor


def check_model(architecture: Architecture) -> None:
    """Check a model.

    It builds for any layout and task; its parameters come from the seed alone; a row's output does not depend on the
    other rows of a batch; gradients are finite; a client's gradient is the same whether clients are computed together
    or alone.
    """
    name = type(architecture).__name__
    for outputs in (1, 3):
        module = architecture.build(2, (3, 2), outputs)
        assert sum(value.numel() for value in module.parameters()) > 0, f"{name} has no parameters."
    state = torch.get_rng_state()
    one, other = (make_learner(architecture, 2, (3, 2), "binary", 2, seed=1).initial() for _ in range(2))
    assert all(bool((one[key] == other[key]).all()) for key in one), f"{name} starts elsewhere for the same seed."
    assert bool((torch.get_rng_state() == state).all()), f"{name} draws from torch's global generator."
    learner, encoder = tiny_learner(architecture)
    rows = tiny_table().take(np.arange(6))
    x = torch.from_numpy(encoder.encode(rows, encoder.statistics(rows)))
    y = torch.from_numpy(rows.target)
    parameters = learner.initial()
    together = learner.outputs(parameters, x)
    alone = torch.cat([learner.outputs(parameters, row[None]) for row in x])
    assert torch.allclose(together, alone, atol=ROUNDING), f"{name}'s output for a row depends on the other rows."
    both = learner.gradients(parameters, x.view(2, 3, -1), y.view(2, 3))
    for client in range(2):
        single = learner.gradient(parameters, x.view(2, 3, -1)[client], y.view(2, 3)[client])
        for key, value in single.items():
            assert bool(value.isfinite().all()), f"{name}'s gradient of {key} is not finite."
            scale = max(1.0, float(value.abs().max()))
            near = float((both[key][client] - value).abs().max()) <= ROUNDING * scale
            assert near, f"{name}'s gradient of {key} differs when clients are computed together."
