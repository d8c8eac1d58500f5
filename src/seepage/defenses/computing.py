"""What defences share that change how a client computes its gradient."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.func import grad

from seepage._core import InputError
from seepage.models import Learner, Parameters, Traced


def check_rows_apart(learner: Learner, what: str) -> None:
    """A sentence where BatchNorm mixes the rows of a batch: clients compute their gradient in another way there."""
    if learner.batch_statistics:
        raise InputError(
            f"{what} changes how a client computes its gradient, which does not go with BatchNorm in training mode; "
            "use LayerNorm, or BatchNorm with stored statistics."
        )


def client_gradients(learner: Learner, loss: Callable[..., Tensor]) -> Callable[..., Parameters]:
    """Gradients of a loss(parameters, ...) by the parameters, for all clients: every argument has a client axis."""
    return Traced(learner.mapped(grad(loss), randomness="different"), steady=learner.vectorised)
