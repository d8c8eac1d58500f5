"""What a defence costs: the training loss with defended gradients (CAFE, Figure 7 and Table 11)."""

from __future__ import annotations

from collections.abc import Collection

from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent
from seepage.defenses import Defense
from seepage.federation.vertical.shared import UNDEFENDED, SharedLayers
from seepage.models import Learner, Parameters


def training_losses(
    protocol: SharedLayers,
    learner: Learner,
    rows: tuple[Tensor, Tensor],
    batches: int,
    streams: Streams,
    *,
    defense: Defense = UNDEFENDED,
    at: Collection[int] = (),
    progress: Progress = silent,
) -> list[tuple[int, float]]:
    """The loss on all rows before training, after these numbers of batches, and at the end.

    The same streams give the same batches, so that defences can be laid side by side.

    Args:
        rows: everyone's inputs, and targets.

    Returns:
        batches seen so far, and the mean loss then.
    """
    if protocol.rate <= 0:
        raise InputError("The protocol's learning rate is 0: the weights stay, so there is no training loss to follow.")
    x, y = rows
    losses = [(0, float(learner.loss(learner.initial(), x, y)))]

    def watch(seen: int, parameters: Parameters) -> None:
        progress("training loss", seen, batches)
        if seen in at or seen == batches:
            losses.append((seen, float(learner.loss(parameters, x, y))))

    for _ in protocol.stream(learner, x, y, batches, streams, defense=defense, watch=watch):
        pass
    return losses
