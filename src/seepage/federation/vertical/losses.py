"""What a defence costs: the training loss with defended gradients (document 001, Figure 7 and Table 11)."""

from __future__ import annotations

from collections.abc import Collection

from torch import Tensor

from seepage._core import InputError, Streams
from seepage.defenses import Defense
from seepage.federation.vertical.shared import UNDEFENDED, SharedLayers
from seepage.models import Learner, Parameters


def training_losses(
    protocol: SharedLayers,
    learner: Learner,
    x: Tensor,
    y: Tensor,
    batches: int,
    streams: Streams,
    *,
    defense: Defense = UNDEFENDED,
    every: int = 100,
    at: Collection[int] = (),
) -> list[tuple[int, float]]:
    """The loss on all rows before training, every so many batches (or after those in ``at``), and at the end.

    The same streams give the same batches, so that defences can be laid side by side.

    Returns:
        batches seen so far, and the mean loss then.
    """
    if protocol.rate <= 0:
        raise InputError("The protocol's learning rate is 0: the weights stay, so there is no training loss to follow.")
    if every < 1:
        raise InputError(f"The loss is to be taken every {every} batches; it must be at least 1.")
    losses = [(0, float(learner.loss(learner.initial(), x, y)))]

    def watch(seen: int, parameters: Parameters) -> None:
        if (seen in at if at else seen % every == 0) or seen == batches:
            losses.append((seen, float(learner.loss(parameters, x, y))))

    for _ in protocol.stream(learner, x, y, batches, streams, defense=defense, watch=watch):
        pass
    return losses
